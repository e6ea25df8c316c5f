// English: the fruits mode.
const s = (count) => (count === 1 ? '' : 's');

export default {
  mode_fruits: 'Fruits',
  fruits_search: 'Find fruits',
  fruits_find: 'Find',
  fruits_help: (lane, name) => `Any of: lane ${lane}${name ? `, ${name}, partial, lot 4711` : ''}, fruit 17, 2026-11-27, 02:00–03:00 (times of this browser; `
    + 'without a day, the last one).',
  fruits_verdicts: (verdicts, fruits) => `${verdicts} of ${fruits} fruits have a verdict.`,
  fruits_no_verdicts: 'To find by verdict, class and lot, start cernita-workbench with --archive FILE or --log DIR.',
  fruits_need_verdicts: 'Verdicts, classes and lots are not in recordings: start cernita-workbench with --archive FILE or --log DIR.',
  fruits_unknown: (word, classes) => `“${word}” is not understood: write lane N, fruit N, lot ID, a day as 2026-11-27, times as 02:00–03:00, `
    + `complete, partial or late${classes ? `, or a class: ${classes}` : ''}.`,
  fruits_reading: (views) => `Reading the recordings: ${views} views so far.`,
  fruits_found: (found, all, from, to) => `${found} of ${all} fruits${from ? `, from ${from} to ${to}` : ''}`,
  fruits_none_recorded: 'These recordings have no fruit.',
  fruits_notes: (count) => `${count} recording${s(count)} could not be read whole`,
  fruits_more: 'Show more',
  fruits_name: (lane, fruit, time) => `Lane ${lane}, fruit ${fruit}, ${time}`,
  fruits_count: (views) => `${views} view${s(views)}`,
  fruits_lot: (lot) => `lot ${lot}`,
  fruits_view: (view) => `View ${view}`,
  fruits_views: 'Views of this fruit',
  fruits_before: 'Previous fruit',
  fruits_next: 'Next fruit',
  fruits_back: 'Back to the list',
  fruits_complete: 'complete',
  fruits_partial: 'partial',
  fruits_late: 'late',
  surface_title: 'The whole surface of this fruit',
  surface_verdict: 'As the line judged it.',
  surface_run_again: 'Run the chain on all views, with the settings of the Chain mode',
  surface_again: 'As the settings of the Chain mode judged it when it was run.',
  surface_difference: 'The difference.',
  surface_before: 'only as the line judged it',
  surface_after: 'only with these settings',
  surface_both: 'both',
  surface_places: 'An archive keeps where defects are and how large, not their outlines: circles of their areas. To see outlines, start '
    + 'cernita-workbench with --log DIR.',
  surface_no_source: 'It is in verdicts, not in recordings: start cernita-workbench with --log DIR (with outlines) or --archive FILE.',
  surface_no_verdict: 'This fruit has no verdict in the archive or log.',
  surface_late: 'No view was judged: the verdict says nothing of the surface.',
  surface_no_geometry: 'The line did not measure this fruit. To measure, give its file a section geometry; the Calibrate mode finds mm_per_px, '
    + 'and roll_deg is how far a fruit rolls from view to view:',
};
