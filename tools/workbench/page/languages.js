// The languages of the workbench, each merged from the texts of its modes.
import chainEn from './chain_words_en.js';
import chainIt from './chain_words_it.js';
import operatorEn from './operator_words_en.js';
import operatorIt from './operator_words_it.js';
import timingEn from './timing_words_en.js';
import timingIt from './timing_words_it.js';

export default {
  en: { ...operatorEn, ...timingEn, ...chainEn },
  it: { ...operatorIt, ...timingIt, ...chainIt },
};
