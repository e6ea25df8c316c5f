// English: the levels mode.
const s = (count) => (count === 1 ? '' : 's');

export default {
  levels_title: 'Levels',
  levels_about: 'Runs the chain of the Chain mode on all labelled views at the levels 0, 0.01, … 1, and says how often each class would be found rightly.',
  levels_missing: 'This mode needs a recording and labels of its views. Open both: labels are a CSV file that begins with the line '
    + 'fruit,view,class,has_defect, or a folder with labels.csv, with masks FRUIT-VIEW.png, or with both.',
  levels_folder: 'Open a folder of labels…',
  levels_folder_hint: 'Or drop the folder, or its files, here. A mask has the number of a class in each pixel.',
  levels_recording: 'Recording',
  levels_labels: 'Labels',
  levels_all: 'all open recordings',
  levels_run: 'Compute',
  levels_running: (done, all) => `${done} of ${all} view${s(all)}`,
  levels_seen: ({ views, labelled_views: labelled, masks, unused_labels: unused, truncated }) => (
    `${views} view${s(views)}, ${labelled} of them labelled, ${masks} with masks.`
    + `${unused ? ` ${unused} label${s(unused)} are of views that are not there.` : ''}`
    + `${truncated ? ` ${truncated} run${s(truncated)} found more outlines than the limits allow; the rest did not count.` : ''}`),
  levels_rule: 'Suggest the level with',
  levels_by_f1: 'the largest F1',
  levels_by_recall: 'the largest precision, and a recall of at least',
  levels_recall: 'recall',
  levels_table: 'Suggested levels',
  levels_curves: 'Precision, recall and F1 by level',
  levels_col_class: 'class',
  levels_col_by: 'by',
  levels_col_labelled: 'labelled',
  levels_col_positives: 'with defect',
  levels_col_level: 'level',
  levels_col_precision: 'precision',
  levels_col_recall: 'recall',
  levels_col_f1: 'F1',
  levels_by_view: 'view',
  levels_by_pixel: 'pixel',
  levels_at: (name, level, precision, recall) => `${name} at level ${level}: precision ${precision}, recall ${recall}`,
  levels_no_level: (name) => `${name}: no level to suggest`,
  levels_yaml: 'For a line’s file',
  levels_yaml_about: 'Replaces “classes:” in the line’s file. Try these levels on other recordings: for these they are too good.',
};
