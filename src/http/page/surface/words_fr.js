// French: the surface of a fruit.
export default {
  no_defects: 'aucun défaut',
  measured: (across, along, seen) => `${across} de diamètre, ${along} le long de l'axe de rotation ; ${seen} en a été vu`,
  no_pose: 'Non mesuré : aucune image ne montre où est le fruit.',
  no_roll: 'Non mesuré : on ne sait pas de combien le fruit a tourné, ou il a trop de contours.',
  no_time_to_measure: 'Non mesuré : le temps manquait.',
  map: (fruit, what) => `Surface du fruit ${fruit} : ${what}`,
  spot: (name, area, length, width) => `${name}, ${area}, ${length} × ${width} mm`,
};
