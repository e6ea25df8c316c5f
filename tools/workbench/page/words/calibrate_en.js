// English: the calibrate mode.
export default {
  calibrate_title: 'Calibrate',
  calibrate_about: 'Finds a camera’s scale in a picture of a flat target that faces it at the height of the roll axis.',
  calibrate_target: 'The picture shows',
  calibrate_disc: 'a disc',
  calibrate_chequerboard: 'a chequerboard',
  calibrate_size_disc: 'diameter',
  calibrate_size_chequerboard: 'side of a square',
  calibrate_run: 'Find',
  calibrate_lines: 'For a line’s file',
  calibrate_picture: 'The picture, with what is found of the target',
};
