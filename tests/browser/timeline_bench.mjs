// How long a timeline of 200,000 bars takes to load and to zoom. Prints milliseconds.
//
//   node tests/browser/timeline_bench.mjs BUILD_FOLDER
import {statSync} from 'node:fs';
import {withBrowser} from './browser.mjs';
import * as fixtures from './fixtures.mjs';

const zooms = {half: 0.5, tenth: 0.1, thousandth: 0.001, whole: 1};

// The time to act and to show it: until the second frame after it.
const measure = (page, share) => page.evaluate((part) => new Promise((done) => {
  const {chart, data} = document.getElementById('run-1-timeline').view;
  const started = performance.now();
  chart.dispatchAction({type: 'dataZoom', dataZoomIndex: 0, startValue: 0,
    endValue: data.end_s * part});
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - started)));
}), share);

// From the navigation's start until the frame that shows the timeline.
const drawn = (page) => page.evaluate(() => new Promise((done) => {
  document.getElementById('run-1-timeline').view.begin();
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
}));

await withBrowser(async ({build, folder, open}) => {
  const document = fixtures.run();
  document.recording.timeline = fixtures.timeline({ranks: 64, micro: 1041});
  const file = fixtures.writePage(build, folder, 'bench', document);
  console.log(`bars ${document.recording.timeline.bars}`);
  console.log(`page ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  const page = await open(file);
  console.log(`loaded and drawn after ${(await drawn(page)).toFixed(0)} ms`);
  for (const [name, share] of Object.entries(zooms))
    console.log(`zoom to ${name} ${(await measure(page, share)).toFixed(0)} ms`);
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
  console.log(`heap ${Math.round(heap / 1e6)} MB`);
});
