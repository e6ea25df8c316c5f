// German: the surface of a fruit.
export default {
  no_defects: 'keine Fehler',
  measured: (across, along, seen) => `${across} Durchmesser, ${along} entlang der Rollachse; ${seen} davon wurden gesehen`,
  no_pose: 'Nicht vermessen: Kein Bild zeigt, wo die Frucht ist.',
  no_roll: 'Nicht vermessen: Es ist nicht bekannt, wie weit die Frucht gerollt ist, oder sie hat zu viele Umrisse.',
  no_time_to_measure: 'Nicht vermessen: Die Zeit war knapp.',
  map: (fruit, what) => `Oberfläche von Frucht ${fruit}: ${what}`,
  spot: (name, area, length, width) => `${name}, ${area}, ${length} × ${width} mm`,
};
