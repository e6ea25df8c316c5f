// English: the surface of a fruit.
export default {
  no_defects: 'no defects',
  measured: (across, along, seen) => `${across} across, ${along} along the roll axis; ${seen} of it was seen`,
  no_pose: 'Not measured: no picture shows where the fruit is.',
  no_roll: 'Not measured: it is not known how far the fruit rolled, or it has too many outlines.',
  no_time_to_measure: 'Not measured: time was short.',
  map: (fruit, what) => `Surface of fruit ${fruit}: ${what}`,
  spot: (name, area, length, width) => `${name}, ${area}, ${length} × ${width} mm`,
};
