// English: all texts of the workbench.
import chain from './chain_words_en.js';
import operator from './operator_words_en.js';
import timing from './timing_words_en.js';

export default { ...operator, ...timing, ...chain };
