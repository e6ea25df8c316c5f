// Italian: the surface of a fruit.
export default {
  no_defects: 'nessun difetto',
  measured: (across, along, seen) => `${across} di diametro, ${along} lungo l'asse di rotazione; visto il ${seen}`,
  no_pose: 'Non misurato: nessuna immagine mostra dove si trova il frutto.',
  no_roll: 'Non misurato: non si sa di quanto il frutto ha ruotato, o ha troppi contorni.',
  no_time_to_measure: 'Non misurato: il tempo non bastava.',
  map: (fruit, what) => `Superficie del frutto ${fruit}: ${what}`,
  spot: (name, area, length, width) => `${name}, ${area}, ${length} × ${width} mm`,
};
