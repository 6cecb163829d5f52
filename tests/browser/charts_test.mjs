// The other charts: links of small and large networks, collectives with measured points, claims,
// shares and utilization; what their controls do.
import assert from 'node:assert/strict';
import {downloadCsv, drawAll, withBrowser} from './browser.mjs';
import * as fixtures from './fixtures.mjs';

const optionOf = (page, id) => page.evaluate((figure) => JSON.parse(JSON.stringify(
  document.getElementById(figure).view.chart.getOption(),
  (key, value) => (key === 'formatter' ? undefined : value))), id);

async function network({build, folder, open}) {
  const document = fixtures.run();
  const page = await open(fixtures.writePage(build, folder, 'small', document));
  await drawAll(page);
  const small = await optionOf(page, 'run-1-network');
  assert.equal(small.series[0].type, 'graph');
  assert.equal(small.series[0].data.length, 22);
  assert.equal(small.series[0].links.length, document.recording.links.length);
  await page.locator('#run-1-network select[name=direction]').selectOption('up');
  const up = await optionOf(page, 'run-1-network');
  assert.equal(up.series[0].links.length, document.recording.links.length / 2);
  const lines = (await downloadCsv(page, 'run-1-network')).trimEnd().split('\n');
  assert.deepEqual(lines.slice(1).map((line) => line.split(',').slice(0, 7).join()),
    document.recording.links.map((link) => [link.from, link.to, link.tier, link.direction,
      link.capacity_bytes_per_s, link.carried_bytes, link.load].join()));
  const busiest = document.recording.links.reduce((a, b) => (b.load > a.load ? b : a));
  assert.match(await page.locator('#run-1-network .summary').textContent(),
    new RegExp(`${busiest.from} → ${busiest.to} with ${(100 * busiest.load).toFixed(1)}%`));
}

async function largeNetwork({build, folder, open}) {
  const document = fixtures.run({recording:
    fixtures.recording({links: {leaves: 16, spines: 8, down: 8, nics: 8}})});
  const page = await open(fixtures.writePage(build, folder, 'large', document));
  await drawAll(page);
  const servers = await optionOf(page, 'run-1-network');
  assert.equal(servers.series[0].type, 'heatmap');
  assert.deepEqual([servers.yAxis[0].data.length, servers.xAxis[0].data.length], [128, 8]);
  assert.equal(servers.dataZoom[0].endValue - servers.dataZoom[0].startValue, 39);
  await page.locator('#run-1-network button[aria-label="Scroll down"]').click();
  assert.equal((await optionOf(page, 'run-1-network')).dataZoom[0].startValue, 20);
  await page.locator('#run-1-network select[name=level]').selectOption('1 up');
  const leaves = await optionOf(page, 'run-1-network');
  assert.deepEqual([leaves.yAxis[0].data.length, leaves.xAxis[0].data.length], [16, 8]);
  const expected = document.recording.links.filter((link) => link.tier === 1 &&
    link.direction === 'up' && link.from === 'leaf3').map((link) => link.load);
  assert.deepEqual(leaves.series[0].data.filter((cell) => cell.value[1] === 3)
    .map((cell) => cell.value[2]), expected);
}

async function collectives({build, folder, open}) {
  const document = fixtures.collectives();
  const page = await open(fixtures.writePage(build, folder, 'collectives', document));
  await drawAll(page);
  const {series, xAxis, yAxis} = await optionOf(page, 'run-1-collectives');
  assert.deepEqual([...xAxis, ...yAxis].map((axis) => axis.type), ['log', 'log', 'log', 'log']);
  assert.deepEqual(series.map((one) => `${one.type} ${one.name}`), [
    'line all-reduce, simulated', 'scatter all-reduce, measured',
    'line all-reduce, slow, simulated',
    'line all-reduce, simulated', 'scatter all-reduce, measured',
    'line all-reduce, slow, simulated']);
  assert.deepEqual(series[4].data.map((point) => point.value),
    document.jobs[0].measured.map((point) => [point.bytes, point.time_s]));
  const texts = await page.locator('#run-1-collectives svg text').allTextContents();
  // From 1 KiB to 1 GiB: powers of 4.
  assert.deepEqual([...new Set(texts.filter((text) => /^\d+ .iB$/.test(text)))].sort(),
    ['1', '4', '16', '64', '256'].flatMap((n) => ['KiB', 'MiB', 'GiB'].map((unit) => `${n} ${unit}`))
      .filter((text) => !/^(?!1 ).*GiB/.test(text)).sort());
  assert.ok(texts.some((text) => / us$/.test(text)) && texts.some((text) => / ms$/.test(text)));
  await measured(page, document);
  await page.locator('#run-1-collectives .legend button').nth(1).click();
  assert.equal((await optionOf(page, 'run-1-collectives')).series.length, 4);
}

// The measured times are 1.1 times the simulated ones.
async function measured(page, document) {
  assert.match(await page.locator('#run-1-collectives .summary').textContent(),
    /Mean absolute error of the time: 9.1%, over 6 measured sizes/);
  const [head, ...lines] = (await downloadCsv(page, 'run-1-collectives')).trimEnd().split('\n');
  assert.match(head, /,measured time \(s\),simulated \/ measured - 1$/);
  const row = document.jobs[0].metrics.rows[2];
  const cells = lines[2].split(',');
  assert.ok(Math.abs(Number(cells.at(-2)) / (1.1 * row.time_s) - 1) < 1e-12);
  assert.ok(Math.abs(Number(cells.at(-1)) - (1 / 1.1 - 1)) < 1e-12);
  assert.ok(lines[1].endsWith(',,'));
  await page.locator('#run-1-collectives summary').click();
  const shown = await page.locator('#run-1-collectives tbody tr').nth(5).locator('td')
    .allTextContents();
  assert.equal(shown[1], '1 MiB');
  assert.equal(await page.locator('#run-1-collectives tbody tr').nth(2).locator('td').last()
    .textContent(), '-9.09%');
}

// NVLinks whose time is in pauses have no line, and the chart says why.
async function utilization({build, folder, open}) {
  const document = fixtures.run();
  const {series, notes} = document.recording;
  const zero = Array.from({length: series.bins}, () => 0);
  series.columns.push({key: 'nvlink', title: 'NVLink', resource: 'NVLink', unit: '1', values: zero});
  notes.push('Collectives inside servers load no NVLink here.');
  const page = await open(fixtures.writePage(build, folder, 'nvlink', document));
  await drawAll(page);
  const said = (id) => page.locator(`#${id} .summary`).textContent();
  assert.match(await said('run-1-utilization'), /load no NVLink here\.$/);
  assert.doesNotMatch(await said('run-1-timeline'), /NVLink/);
  assert.match(await said('run-1-timeline'), /One tensor rank stands for 8/);
  const legend = page.locator('#run-1-utilization .legend button');
  assert.deepEqual(await legend.allTextContents(), series.columns.slice(0, -1).map((one) => one.title));
  const strokes = await legend.locator('i').evaluateAll((all) => all.slice(1, 3).map((mark) =>
    getComputedStyle(mark).borderTopStyle));
  assert.deepEqual(strokes, ['solid', 'dashed']);
  await page.context().close();
}

// All names can be read on a narrow page, and long ones differ.
async function narrowNetwork({build, folder, open}) {
  const document = fixtures.run();
  const long = (name) => `a-very-long-name-of-a-fabric-${name}`;
  for (const node of document.recording.nodes) node.name = long(node.name);
  for (const link of document.recording.links) {
    link.from = long(link.from);
    link.to = long(link.to);
  }
  const page = await open(fixtures.writePage(build, folder, 'narrow', document),
    {viewport: {width: 700, height: 900}});
  await drawAll(page);
  const texts = await page.locator('#run-1-network .plot svg text').evaluateAll((all) => {
    const {left, right, top, bottom} = all[0].ownerSVGElement.getBoundingClientRect();
    return all.map((text) => {
      const box = text.getBoundingClientRect();
      return [text.textContent, box.left >= left && box.right <= right && box.top >= top &&
        box.bottom <= bottom];
    });
  });
  assert.equal(new Set(texts.map(([text]) => text)).size, 22);
  assert.deepEqual(texts.filter(([, inside]) => !inside), []);
  await page.context().close();
}

async function claim({build, folder, open}) {
  const row = (title, values, claims) => ({metric: 'training_days', title, unit: 'd', values,
    claim: claims, deviation: claims.map((one, i) => (one === null ? null : values[i] / one - 1))});
  const comparison = {schema_version: 1, claimed_only: [], notes: [], contradictions: [],
    claim_source: 'an article', results: [fixtures.result('one'), fixtures.result('two')],
    rows: [row('near', [20.4, 14.3], [21, 14]), row('far', [1, 2], [20, null])]};
  const page = await open(fixtures.writePage(build, folder, 'claim', comparison));
  await drawAll(page);
  assert.match(await page.locator('#claim .summary').textContent(), /^2 of 3 claimed numbers/);
  const near = await optionOf(page, 'claim');
  assert.deepEqual(near.series.map((one) => one.data.map((point) => point.value[0])),
    [[20.4 / 21, 0.9], [14.3 / 14]]);
  const texts = await page.locator('#claim svg text').allTextContents();
  assert.ok(texts.includes('-95.0%'), texts.join());
  await page.locator('#claim select').selectOption('all');
  assert.equal((await optionOf(page, 'claim')).series[0].data[1].value[0], 0.05);
  const cells = await page.locator('#claim tbody tr').first().locator('th, td').allTextContents();
  assert.deepEqual(cells.slice(0, 5), ['near', 'one', '20.4 d', '21 d', '97.14%']);
}

// A run keeps its color where another has nothing to show.
async function colors({build, folder, open}) {
  const bare = fixtures.result('bare');
  delete bare.metrics.equipment;
  const comparison = {schema_version: 1, claimed_only: [], notes: [], contradictions: [],
    claim_source: null, results: [bare, fixtures.result('full')],
    rows: [{metric: 'mfu', title: 'MFU', unit: '1', values: [0.2, 0.3], claim: [null, 0.3], deviation: [null, 0]}]};
  const page = await open(fixtures.writePage(build, folder, 'colors', comparison));
  await drawAll(page);
  const colorIn = async (id) => (await optionOf(page, id)).series[0].itemStyle.color;
  assert.equal(await colorIn('claim'), await colorIn('equipment'));
  assert.equal(await colorIn('claim'), await page.evaluate(() => trainyard.series[1]));
}

async function shares({build, folder, open}) {
  const document = fixtures.run();
  const page = await open(fixtures.writePage(build, folder, 'shares', document));
  await drawAll(page);
  const id = 'run-1-stage-time';
  // Stage 0 is ranks 0 and 1, the first of which stands for 16.
  const expected = (16 * 0.6 + 0.65) / 17;
  const {series} = await optionOf(page, id);
  assert.ok(Math.abs(series[1].data[0] - expected) < 1e-12);
  await page.locator(`#${id} select`).selectOption('share');
  assert.ok(Math.abs((await optionOf(page, id)).series[1].data[0] - expected / 3.9375) < 1e-12);
  await page.locator(`#${id} .legend button`).first().click();
  assert.equal(await page.locator(`#${id} .legend button`).first().getAttribute('aria-pressed'),
    'false');
  assert.ok(Math.abs((await optionOf(page, id)).series[0].data[0] -
    expected / (3.9375 - 2.4)) < 1e-9);
  const lines = (await downloadCsv(page, 'run-1-utilization')).trimEnd().split('\n');
  const {columns, bins, bin_s: bin} = document.recording.series;
  assert.equal(lines.length, bins + 1);
  assert.deepEqual(lines[8].split(',').map(Number),
    [bin * 7, ...columns.map((column) => column.values[7])]);
}

// Two bars for each label, one on the other: its time on the path, and the gain that was chosen.
async function critical({build, folder, open}) {
  const document = fixtures.run({recording: fixtures.recording({path: true})});
  const page = await open(fixtures.writePage(build, folder, 'critical', document));
  await drawAll(page);
  const id = 'run-1-critical';
  const values = async () => (await optionOf(page, id)).series.map((one) =>
    one.data.map((bar) => bar.value));
  assert.deepEqual(await values(), [[3.5, 0.4375], [1.25, 0]]);
  await page.locator(`#${id} select`).selectOption('4');
  assert.deepEqual(await values(), [[3.5, 0.4375], [0.3, 0]]);
  assert.match(await page.locator(`#${id} .summary`).textContent(),
    /takes 3\.938 s in 8 segments: forward \(compute\) is 88\.9% of it, and without it the run/);
  const lines = (await downloadCsv(page, id)).trimEnd().split('\n').slice(1);
  assert.deepEqual(lines, [`forward (compute),3.5,${3.5 / 3.9375},1.25,0.3`,
    `"all-reduce (data, network)",0.4375,${0.4375 / 3.9375},,`]);
  await page.context().close();
}

await withBrowser(async (context) => {
  await critical(context);
  await network(context);
  await largeNetwork(context);
  await collectives(context);
  await utilization(context);
  await narrowNetwork(context);
  await claim(context);
  await colors(context);
  await shares(context);
});
