// What the reader opens: files that are chosen, dropped or pasted, and folders of labels.
import { Refusal, post } from './api.js';
import { byId } from './frame.js';
import { bytes, say } from './words.js';

const LOOSE = 'labels'; // the name of labels that come without a folder

// The files of a dropped folder, but not those of folders in it.
async function filesOf(folder) {
  const reader = folder.createReader();
  const files = [];
  for (;;) {
    // A part at a time, until there are no more.
    const entries = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (entries.length === 0) return files;
    for (const entry of entries) {
      if (entry.isFile) files.push(await new Promise((resolve, reject) => { entry.file(resolve, reject); }));
    }
  }
}

export class Files {
  // `attempt` runs an action and says its refusal; false if there was one.
  constructor(app, attempt) {
    this.app = app;
    this.attempt = attempt;
    app.openLabels = (name, files) => attempt(() => this.sendLabels(name, files), name);
    this.listenInput();
    this.listenDrop();
    document.addEventListener('paste', (event) => {
      const files = [...event.clipboardData.files];
      if (files.length === 0) return;
      event.preventDefault();
      this.open(files);
    });
  }

  listenInput() {
    const file = byId('file');
    byId('open').addEventListener('click', () => file.click());
    file.addEventListener('change', async () => {
      await this.open([...file.files]);
      file.value = ''; // so that the same file can be opened again
    });
  }

  listenDrop() {
    const carriesFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes('Files');
    document.addEventListener('dragover', (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      byId('drop').hidden = false;
    });
    document.addEventListener('dragleave', (event) => {
      if (!event.relatedTarget) byId('drop').hidden = true;
    });
    document.addEventListener('drop', (event) => {
      byId('drop').hidden = true;
      if (!carriesFiles(event)) return;
      event.preventDefault();
      const items = [...event.dataTransfer.items].filter(({ kind }) => kind === 'file');
      const folders = items.map((item) => item.webkitGetAsEntry()).filter((entry) => entry?.isDirectory);
      const names = folders.map(({ name }) => name);
      this.open(items.map((item) => item.getAsFile()).filter((file) => file && !names.includes(file.name)), folders);
    });
  }

  // Folders are of labels, and so are loose files with names of labels while the Levels mode is shown, if any is a mask.
  async open(files, folders = []) {
    for (const folder of folders) {
      if (!await this.attempt(async () => this.sendLabels(folder.name, await filesOf(folder)), folder.name)) return;
    }
    const labels = document.body.dataset.mode === 'levels' ? files.filter((file) => this.isOfLabels(file)) : [];
    const together = labels.some(({ name }) => !name.endsWith('.csv'));
    if (together && !await this.attempt(() => this.sendLabels(LOOSE, labels), LOOSE)) return;
    for (const file of files) {
      if (together && labels.includes(file)) continue;
      if (!await this.attempt(() => this.app.open(file, file.name), file.name)) return;
    }
  }

  isOfLabels({ name }) {
    return new RegExp(this.app.catalogue.label_names).test(name);
  }

  async sendLabels(name, all) {
    const files = all.filter((file) => this.isOfLabels(file));
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const { upload_bytes: most } = this.app.catalogue.limits;
    if (files.length === 0) throw new Refusal(say('no_labels', name), 422);
    if (size > most) throw new Refusal(say('file_too_large', bytes(size), bytes(most)), 413);
    const form = new FormData();
    for (const file of files) form.append('file', file, file.name);
    const answer = await post(`/labels?name=${encodeURIComponent(name)}`, form);
    this.app.add(answer.pictures);
    this.app.tell(say('opened_folder', name, files.length));
  }
}
