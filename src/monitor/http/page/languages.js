// The languages of the live page; those of the conditions' texts, which GET /conditions gives.
import surface from './surface/words.js';
import de from './words_de.js';
import en from './words_en.js';
import es from './words_es.js';
import fr from './words_fr.js';
import it from './words_it.js';

export default {
  en: { ...surface.en, ...en },
  it: { ...surface.it, ...it },
  es: { ...surface.es, ...es },
  fr: { ...surface.fr, ...fr },
  de: { ...surface.de, ...de },
};
