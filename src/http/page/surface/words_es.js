// Spanish: the surface of a fruit.
export default {
  no_defects: 'sin defectos',
  measured: (across, along, seen) => `${across} de diámetro, ${along} a lo largo del eje de giro; se vio el ${seen}`,
  no_pose: 'Sin medir: ninguna imagen muestra dónde está la fruta.',
  no_roll: 'Sin medir: no se sabe cuánto giró la fruta, o tiene demasiados contornos.',
  no_time_to_measure: 'Sin medir: faltó tiempo.',
  map: (fruit, what) => `Superficie de la fruta ${fruit}: ${what}`,
  spot: (name, area, length, width) => `${name}, ${area}, ${length} × ${width} mm`,
};
