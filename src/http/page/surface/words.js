// The texts of this folder by language; languages.js of a page merges them with its own.
import de from './words_de.js';
import en from './words_en.js';
import es from './words_es.js';
import fr from './words_fr.js';
import it from './words_it.js';

export default { en, it, es, fr, de };
