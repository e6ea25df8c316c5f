// The live page: shows the daemon's events, one a second.
import { soundAlarm, soundIsOn } from './alarms/sound.js';
import { showAlarms, startAlarms } from './alarms/alarms.js';
import { headlineOf, loadConditions, showConditions, showHeadline } from './conditions.js';
import { showDetails, startDetails } from './details.js';
import { byId, setText, startFrame } from './frame.js';
import { startHistory } from './history.js';
import { showLanes } from './lanes.js';
import { showBad, showFruits } from './last_fruits.js';
import { showOutlets, withSorterFaults } from './outlets.js';
import { showOverview } from './overview.js';
import { say, timeOfDay } from './words.js';

const SILENCE_MS = 6000; // without an event for so long the connection counts as lost
const RETRY_MS = 2000;

let latest = null; // the last event
let lastEventMs = 0;
let waitingSinceMs = 0; // for the next event: since the last one, or since the page is looked at again

function show(event) {
  const headline = headlineOf(event);
  document.title = `${headline.headline} – cernita`;
  setText(byId('config'), event.config);
  showHeadline(headline);
  for (const part of [showConditions, showAlarms, showOverview, showOutlets, showLanes, showFruits, showBad, showDetails]) part(event);
}

function setConnection(state, text) {
  document.body.dataset.connection = state;
  setText(byId('connection'), text);
}

let source = null;
let textsAsked = false; // the first event waits for the texts, so that nothing is said in English first

// The daemon may be another one, with other texts. Until they are there its English ones are shown.
async function readTexts() {
  const asked = source;
  try {
    await loadConditions();
  } catch {
    setTimeout(() => asked === source && readTexts(), RETRY_MS);
  }
  textsAsked = true;
  if (document.body.dataset.connection === 'live') show(latest);
}

function disconnect() {
  if (source) source.close();
  source = null;
}

function connect() {
  disconnect();
  source = new EventSource('/events');
  waitingSinceMs = waitingSinceMs || Date.now();
  source.addEventListener('open', readTexts);
  source.addEventListener('snapshot', (message) => {
    latest = withSorterFaults(JSON.parse(message.data));
    lastEventMs = waitingSinceMs = Date.now();
    setConnection('live', say('connected'));
    if (textsAsked) show(latest);
  });
  source.addEventListener('error', () => {
    if (source && source.readyState === EventSource.CLOSED) setTimeout(watch, RETRY_MS);
  });
}

// By the daemon's clock, as the times of events are.
const nowSeconds = () => (latest ? latest.now_s + (Date.now() - lastEventMs) / 1000 : Date.now() / 1000);

// The last alarms may be over or not: what is known is that nobody watches the line from here.
function showLost() {
  soundAlarm('critical', nowSeconds());
  const action = latest ? say('connection_lost', timeOfDay(lastEventMs / 1000)) : say('never_connected');
  setConnection('lost', say('not_connected'));
  document.title = `${say('not_connected')} – cernita`;
  showHeadline({ level: 'bad', headline: say('not_connected'), action, since: '', misjudged: false, key: 'not_connected' });
}

// What is on the page may be hours old, and may never have been seen: it is not shown as the state of now.
function showConnecting() {
  setConnection('connecting', say('connecting'));
  showHeadline({ level: 'none', headline: say('connecting'), action: '', since: '', misjudged: false, key: 'connecting' });
}

// Looks after the connection; a hidden page has none, so that it costs nothing and leaves its place to others, unless it
// is to sound.
function watch() {
  if (document.hidden && !soundIsOn()) {
    disconnect();
    return;
  }
  const silentMs = Date.now() - waitingSinceMs;
  const lost = waitingSinceMs > 0 && silentMs > SILENCE_MS;
  if (lost) showLost();
  else if (!latest) showConnecting();
  const closed = !source || source.readyState === EventSource.CLOSED;
  if (closed || (lost && silentMs % (2 * SILENCE_MS) < 1000)) connect();
}

startFrame();
startDetails();
startAlarms();
startHistory(() => 1000 * nowSeconds());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !source) {
    waitingSinceMs = Date.now();
    showConnecting();
  }
  watch();
});
setInterval(watch, 1000);
watch();
