// Every kind of page: what is on it, that its numbers are those of the document, theme, policy.
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {downloadCsv, drawAll, withBrowser} from './browser.mjs';
import * as fixtures from './fixtures.mjs';

const figures = (page) => page.evaluate(() =>
  [...document.querySelectorAll('figure')].map((figure) => figure.id));

async function chartsOf({build, folder, open}) {
  const comparison = {schema_version: 1, claimed_only: [], notes: [], contradictions: [],
    claim_source: 'an article', results: [fixtures.run({name: 'one'}), fixtures.run({name: 'two'})],
    rows: [{metric: 'step_time_s', title: 'step time', unit: 's', values: [3.9375, 3.9375],
      claim: [4, 2], deviation: [-0.015625, 0.96875]},
    {metric: 'mfu', title: 'MFU', unit: '1', values: [0.283, 0.283], claim: null,
      deviation: null}]};
  const pages = {
    run: [fixtures.run(), ['run-1-job-time', 'run-1-stage-time', 'run-1-timeline',
      'run-1-utilization', 'run-1-network', 'run-1-equipment']],
    bare: [fixtures.result('without a recording'), ['run-1-job-time', 'run-1-equipment']],
    collectives: [fixtures.collectives(),
      ['run-1-job-time', 'run-1-collectives', 'run-1-equipment'].slice(1, 2)],
    sweep: [fixtures.sweep(), ['pareto', 'grid', 'variants']],
    comparison: [comparison, ['claim', 'job-time', 'iteration-time', 'equipment',
      ...[1, 2].flatMap((i) => ['stage-time', 'timeline', 'utilization', 'network']
        .map((name) => `run-${i}-${name}`))]],
  };
  for (const [name, [document, ids]] of Object.entries(pages)) {
    const page = await open(fixtures.writePage(build, folder, name, document));
    await drawAll(page);
    assert.deepEqual(await figures(page), ids, name);
    for (const plot of await page.locator('.plot').all()) {
      assert.ok((await plot.getAttribute('aria-label')).length > 20);
      assert.ok(await plot.locator('svg, canvas').count() > 0);
    }
    await page.context().close();
  }
}

// A share of the GPU time, in the table, in the chart and in the file.
async function numbers({build, folder, open}) {
  const document = fixtures.run();
  const page = await open(fixtures.writePage(build, folder, 'numbers', document));
  await drawAll(page);
  const cells = await page.locator('#run-1-job-time td').allTextContents();
  // 3.9375 s: 61% computing, 16% network, 10% NVLink, 2% storage, 1% host, 10% bubble.
  assert.deepEqual(cells, ['2.402 s', '630 ms', '393.8 ms', '78.75 ms', '39.38 ms', '393.8 ms']);
  const drawn = await page.locator('#run-1-job-time svg text').allTextContents();
  assert.ok(drawn.includes('61%') && drawn.includes('16%'), drawn.join());
  const csv = (await downloadCsv(page, 'run-1-equipment')).trimEnd().split('\n');
  assert.equal(csv[0], 'run,equipment,count,mean power (W),energy (MWh),capital (USD)');
  assert.deepEqual(csv.slice(1), document.metrics.equipment.map((e) =>
    [document.name, e.equipment.includes(',') ? `"${e.equipment}"` : e.equipment, e.count,
      e.average_power_w, e.energy_mwh, e.capital_usd].join()));
  await page.locator('#run-1-equipment select').selectOption({label: 'capital'});
  const bars = await page.locator('#run-1-equipment svg text').allTextContents();
  assert.ok(bars.includes('50,944,000 USD') && bars.includes('capital (USD)'), bars.join());
  assert.ok(!bars.includes('GPUs'), 'what costs nothing has no bar');
}

async function themes({build, folder, open}) {
  const file = fixtures.writePage(build, folder, 'themes', fixtures.run());
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const labels = (page) => page.evaluate(() => [...new Set([...document
    .querySelectorAll('#run-1-stage-time svg text')].map((text) => text.getAttribute('fill')))]);
  const page = await open(file, {colorScheme: 'light'});
  await drawAll(page);
  const light = await paper(page);
  assert.ok((await labels(page)).includes('#1b1f27'));
  await page.locator('select[name=theme]').selectOption('dark');
  assert.notEqual(await paper(page), light);
  assert.ok((await labels(page)).includes('#e7e9ee'));
  await page.emulateMedia({colorScheme: 'dark'});
  await page.locator('select[name=theme]').selectOption('light');
  assert.equal(await paper(page), light);
  await page.locator('select[name=theme]').selectOption('system');
  assert.notEqual(await paper(page), light);
}

// Scripts run by their hash alone: one that came with a document would not.
async function policy({build, folder, open, complaints}) {
  const file = fixtures.writePage(build, folder, 'policy', fixtures.run());
  const text = readFileSync(file, 'utf8');
  const worse = join(folder, 'worse.html');
  writeFileSync(worse, text.replace('<main>', '<main><script>document.title = "x"</script>'));
  const page = await open(worse);
  assert.equal(await page.title(), 'a recorded run – trainyard');
  assert.match(complaints.splice(0).join(), /Content Security Policy/);
  const scripts = (html) => html.match(/script-src [^"]*/)[0];
  const other = fixtures.writePage(build, folder, 'other', fixtures.sweep());
  assert.equal(scripts(readFileSync(other, 'utf8')), scripts(text));
  assert.match(text, /Licensed to the Apache Software Foundation/);
}

// Without scripts the tables are there, and nothing that would need a script.
async function withoutScripts({build, folder, open}) {
  const page = await open(fixtures.writePage(build, folder, 'plain', fixtures.run()),
    {javaScriptEnabled: false});
  assert.equal(await page.locator('button, select, .plot').count(), 0);
  assert.equal(await page.locator('figure').count(), 6);
  await page.locator('#run-1-timeline summary').click();
  // 16 forward passes on the first lane, from the table of sums.
  const row = await page.locator('#run-1-timeline tbody tr').first().locator('th, td')
    .allTextContents();
  assert.deepEqual(row.slice(0, 3), ['rank 0 compute (for 16)', 'forward', '16']);
}

await withBrowser(async (context) => {
  await chartsOf(context);
  await numbers(context);
  await themes(context);
  await policy(context);
  await withoutScripts(context);
});
