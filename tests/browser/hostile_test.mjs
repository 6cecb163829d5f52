// Whatever a scenario puts into a name stays text: on the page, in charts, tooltips and files.
import assert from 'node:assert/strict';
import {downloadCsv, drawAll, withBrowser} from './browser.mjs';
import * as fixtures from './fixtures.mjs';

const {hostile} = fixtures;

async function inert(page, name) {
  assert.equal(await page.locator('img, iframe, object').count(), 0, name);
  const scripts = await page.evaluate(() =>
    [...document.scripts].filter((one) => one.type !== 'application/json').length);
  assert.equal(scripts, 2, name);
}

// Tooltips of every chart: the action shows that of an element without a pointer.
async function showTips(page) {
  return page.evaluate(() => {
    const texts = [];
    for (const {chart} of trainyard.views.filter((view) => view.chart)) {
      chart.getOption().series.forEach((_, seriesIndex) => {
        chart.dispatchAction({type: 'showTip', seriesIndex, dataIndex: 0});
        texts.push(...[...document.querySelectorAll('.tip-text')].map((tip) => tip.textContent));
      });
    }
    return texts;
  });
}

async function pointAtTimeline(page) {
  const plot = page.locator('#run-1-timeline .plot');
  await plot.focus();
  await page.keyboard.press('n');
  return page.locator('#run-1-timeline .tip').textContent();
}

await withBrowser(async ({build, folder, open}) => {
  const spared = ['status'];
  const waits = fixtures.result(hostile);
  waits.metrics.gpu_wait_fractions[hostile] = 0.1;
  const comparison = {schema_version: 1, claimed_only: [hostile], notes: [hostile],
    contradictions: [hostile], claim_source: hostile,
    results: [fixtures.fill(fixtures.run(), hostile), fixtures.fill(fixtures.run(), hostile)],
    rows: [{metric: hostile, title: hostile, unit: hostile, values: [1, 2], claim: [1, 3],
      deviation: [0, -1 / 3]}],
    audit: {tried: 1, runs: [hostile, hostile], rows: [{metric: hostile, title: hostile,
      holds: true, hangs_on: [{pointer: hostile, runs: [hostile], value: hostile, tried: hostile,
        range: [hostile, hostile], outside: true, change: [0.1, 0.2], breaks: true}]}]}};
  const documents = {
    run: fixtures.run({name: hostile,
      recording: fixtures.recording({text: hostile, path: true})}),
    filled: fixtures.fill(fixtures.run({recording: fixtures.recording({path: true})}), hostile,
      spared),
    large: fixtures.run({recording: fixtures.recording({text: hostile, links: {leaves: 20}})}),
    waits, comparison,
    collectives: fixtures.collectives(hostile),
    sweep: fixtures.sweep({text: hostile}),
    all: fixtures.fill(fixtures.sweep(), hostile, spared),
  };
  for (const [name, document] of Object.entries(documents)) {
    const page = await open(fixtures.writePage(build, folder, name, document));
    await drawAll(page);
    const tips = await showTips(page);
    if (name === 'run') tips.push(await pointAtTimeline(page));
    await page.waitForTimeout(100);
    assert.ok(tips.some((text) => text.includes(hostile)), `${name}: no tooltip`);
    await inert(page, name);
    if (name === 'sweep')
      assert.ok((await downloadCsv(page, 'variants')).includes(hostile));
    await page.context().close();
  }
  // A cell that a spreadsheet would run.
  const formula = fixtures.sweep({text: '=1+1'});
  formula.variants[0].axes[1] = '=1+1';
  const page = await open(fixtures.writePage(build, folder, 'formula', formula));
  await drawAll(page);
  assert.ok((await downloadCsv(page, 'variants')).split('\n')[1].startsWith("1,ok,64,'=1+1,"));
});
