// Italiano: all texts of the workbench.
import chain from './chain_words_it.js';
import operator from './operator_words_it.js';
import timing from './timing_words_it.js';

export default { ...operator, ...timing, ...chain };
