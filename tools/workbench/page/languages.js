// The languages of the workbench, each merged from the texts of its modes.
import surface from './surface/words.js';
import calibrateEn from './words/calibrate_en.js';
import calibrateIt from './words/calibrate_it.js';
import chainEn from './words/chain_en.js';
import chainIt from './words/chain_it.js';
import compareEn from './words/compare_en.js';
import compareIt from './words/compare_it.js';
import fruitsEn from './words/fruits_en.js';
import fruitsIt from './words/fruits_it.js';
import levelsEn from './words/levels_en.js';
import levelsIt from './words/levels_it.js';
import operatorEn from './words/operator_en.js';
import operatorIt from './words/operator_it.js';
import timingEn from './words/timing_en.js';
import timingIt from './words/timing_it.js';

export default {
  en: { ...surface.en, ...operatorEn, ...timingEn, ...chainEn, ...compareEn, ...levelsEn, ...calibrateEn, ...fruitsEn },
  it: { ...surface.it, ...operatorIt, ...timingIt, ...chainIt, ...compareIt, ...levelsIt, ...calibrateIt, ...fruitsIt },
};
