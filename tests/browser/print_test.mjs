// On paper: all charts are there, drawn for its width and in its colors, and no controls.
import assert from 'node:assert/strict';
import {withBrowser} from './browser.mjs';
import * as fixtures from './fixtures.mjs';

// Also what was never near the window, before the browser goes on.
async function farFigures(open, file) {
  const page = await open(file, {viewport: {width: 1000, height: 100}});
  const drawn = await page.evaluate(() => {
    const count = () => trainyard.views.filter((view) => view.chart).length;
    const before = count();
    dispatchEvent(new Event('beforeprint'));
    return [before, count()];
  });
  assert.ok(drawn[0] < 6 && drawn[1] === 6, drawn.join());
}

await withBrowser(async ({build, folder, open}) => {
  const file = fixtures.writePage(build, folder, 'run', fixtures.run());
  await farFigures(open, file);
  const page = await open(file, {colorScheme: 'dark'});
  await page.locator('#run-1-job-time svg').waitFor();
  await page.emulateMedia({media: 'print'});
  await page.locator('#run-1-equipment svg').waitFor();
  const drawn = await page.evaluate(() => trainyard.views.map((view) =>
    [view.chart.getWidth(), view.plot.querySelector('svg, canvas') !== null]));
  assert.equal(drawn.length, 6);
  for (const [width, there] of drawn) assert.ok(there && width <= 700, `${width}`);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
  assert.equal(await page.locator('.controls:visible, select:visible').count(), 0);
  const pdf = await page.pdf({format: 'A4'});
  assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
  await page.emulateMedia({media: 'screen'});
  await page.waitForFunction(() => trainyard.views[0].chart.getWidth() > 900);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);
});
