// Italiano: la modalità calibrazione.
export default {
  calibrate_title: 'Calibrazione',
  calibrate_about: 'Trova la scala di una telecamera nell’immagine di un bersaglio piano, rivolto verso di essa all’altezza dell’asse di rotolamento.',
  calibrate_target: 'L’immagine mostra',
  calibrate_disc: 'un disco',
  calibrate_chequerboard: 'una scacchiera',
  calibrate_size_disc: 'diametro',
  calibrate_size_chequerboard: 'lato di una casella',
  calibrate_run: 'Trova',
  calibrate_lines: 'Per il file di una linea',
  calibrate_picture: 'L’immagine, con ciò che si trova del bersaglio',
};
