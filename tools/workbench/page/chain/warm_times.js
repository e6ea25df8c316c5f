// Warm times of results of the Chain mode, measured when the mode is at rest.
import { Refusal, newToken, post, remove } from '../api.js';

const REST_MS = 500; // without a change
const REPEAT = 9;

export class WarmTimes {
  // `measured` is called with a result whose answer has got its warm times.
  constructor(measured) {
    this.measured = measured;
    this.timer = 0;
    this.token = '';
  }

  // Measures those of the results that have none, once nothing has changed for a while.
  want(results) {
    this.stop();
    const missing = results.filter((one) => one && !one.answer.warm);
    if (missing.length > 0) this.timer = setTimeout(() => this.measure(missing), REST_MS);
  }

  // Leaves the machine to another job.
  stop() {
    clearTimeout(this.timer);
    if (this.token) remove(`/jobs/${this.token}`).catch(() => {}); // it may have ended just now
    this.token = '';
  }

  async measure(results) {
    for (const result of results) {
      const token = newToken();
      this.token = token;
      try {
        const { stages, start_ms, run_ms, warm } = await post(`/chain?${new URLSearchParams({ ...result.query, repeat: REPEAT, job: token })}`, result.text);
        Object.assign(result.answer, { stages, start_ms, run_ms, warm });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
      if (this.token !== token) return;
      this.measured(result);
    }
    this.token = '';
  }
}
