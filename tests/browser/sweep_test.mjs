// A sweep's charts: the Pareto front, axes to choose, the map of cells, sorting the variants.
import assert from 'node:assert/strict';
import {downloadCsv, drawAll, withBrowser} from './browser.mjs';
import * as fixtures from './fixtures.mjs';

const parse = (csv) => csv.trimEnd().split('\n').map((line) => line.split(','));

// Of [id, x, y] those that no other is at least as good as in both and better in one.
function frontOf(points) {
  return points.filter(([, x, y]) => !points.some(([, a, b]) =>
    a <= x && b <= y && (a < x || b < y)));
}

// Variants with the same numbers are all on the front.
const names = (points) => points.map(([id]) => id).sort();

async function pareto(page, sweep) {
  const ok = sweep.variants.filter((one) => one.status === 'ok');
  const check = async (x, y) => {
    const lines = parse(await downloadCsv(page, 'pareto'));
    assert.equal(lines.length - 1, ok.length);
    const marked = lines.filter((line) => line.at(-1) === 'true').map((line) => line[0]);
    const numbers = ok.map((one) => [one.id, x(one), y(one)]);
    assert.deepEqual([...marked].sort(), names(frontOf(numbers)));
  };
  await check((one) => one.values[0], (one) => one.values[1]);
  const choose = (name, label) =>
    page.locator(`#pareto select[name=${name}]`).selectOption({label});
  await choose('y', 'MFU');
  assert.equal(await page.locator('#pareto select[name=betterY]').inputValue(), 'high');
  await check((one) => one.values[0], (one) => -one.values[2]);
  await choose('betterY', 'lower');
  await check((one) => one.values[0], (one) => one.values[2]);
  await choose('x', 'cluster.servers');
  await check((one) => one.axes[0], (one) => one.values[2]);
  for (const color of ['transport', 'cost', 'none']) await choose('color', color);
  await choose('log', 'logarithmic');
  const axis = await page.evaluate(() => {
    const option = document.getElementById('pareto').view.chart.getOption();
    return [option.xAxis[0].type, option.xAxis[0].name, option.yAxis[0].name];
  });
  assert.deepEqual(axis, ['log', 'cluster.servers', 'MFU']);
  // With words on an axis it has their names.
  await choose('x', 'transport');
  const words = await page.evaluate(() =>
    document.getElementById('pareto').view.chart.getOption().xAxis[0].data);
  assert.deepEqual(words, ['tcp', 'rdma', 'dpu']);
  // None of them is better, so there is no front.
  assert.match(await page.locator('#pareto .hint').textContent(), /^No front: transport is words/);
  const line = await page.evaluate(() =>
    document.getElementById('pareto').view.chart.getOption().series[1].data);
  assert.deepEqual(line, []);
}

// Within two decades an axis has more marks than its decades, each a round number.
async function logMarks(page) {
  const marks = (low, high) => page.evaluate((numbers) => trainyard.format.logTicks(numbers),
    [low, high]);
  assert.deepEqual(await marks(2.5, 80), [2, 5, 10, 20, 50, 100]);
  assert.deepEqual(await marks(13.2, 19.3), [12, 14, 16, 18, 20]);
  assert.ok((await marks(0.00041, 0.00042)).length > 3);
  assert.deepEqual(await marks(16, 100), [10, 20, 50, 100]);
  assert.ok((await marks(7, 7)).length > 1);
  const all = await marks(16, 47.9);
  assert.ok(all[0] > 0 && all[0] <= 16 && all.at(-1) >= 47.9, all.join());
  assert.equal(await marks(1, 1000), undefined);
  await page.locator('#pareto select[name=log]').selectOption('log');
  const shown = await page.evaluate(() => {
    const {chart} = document.getElementById('pareto').view;
    const {min, max, axisLabel} = chart.getOption().yAxis[0];
    return [min, max, axisLabel.customValues,
      axisLabel.customValues.map((tick) => chart.convertToPixel({yAxisIndex: 0}, tick))];
  });
  assert.deepEqual([shown[2][0], shown[2].at(-1)], [shown[0], shown[1]]);
  const gaps = shown[3].slice(1).map((y, i) => shown[3][i] - y);
  assert.ok(gaps.every((gap) => gap > 10), gaps.join());
  await page.locator('#pareto select[name=log]').selectOption('linear');
}

async function grid(page, sweep) {
  const bestOf = (fits, better) => {
    const cells = new Map();
    for (const one of sweep.variants.filter((v) => v.status === 'ok' && fits(v))) {
      const key = `${one.axes[0]} ${one.axes[1]}`;
      cells.set(key, Math[better](one.values[0], cells.get(key) ?? one.values[0]));
    }
    return [...cells].map(([key, value]) => `${key} ${value}`).sort();
  };
  const shown = async () => parse(await downloadCsv(page, 'grid')).slice(1)
    .map((line) => `${line[2]} ${line[3]} ${Number(line[6])}`).sort();
  assert.deepEqual(await shown(), bestOf(() => true, 'min'));
  await page.locator('#grid select[name=better]').selectOption('high');
  assert.deepEqual(await shown(), bestOf(() => true, 'max'));
  await page.locator('#grid .other select').first().selectOption('on');
  assert.deepEqual(await shown(), bestOf((one) => one.axes[2] === 'on', 'max'));
  // One axis cannot be both: the other takes a free one.
  await page.locator('#grid select[name=row]').selectOption({label: 'transport'});
  assert.notEqual(await page.locator('#grid select[name=column]').inputValue(),
    await page.locator('#grid select[name=row]').inputValue());
}

async function variants(page, sweep) {
  const column = () => page.locator('#variants tbody td:nth-child(8)').allTextContents();
  const sort = page.locator('#variants th button', {hasText: 'cost'});
  const sorted = sweep.variants.map((one) => one.values[1]).filter((one) => one !== null)
    .sort((a, b) => a - b);
  const shown = (value) => `${value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',')} USD`;
  await sort.focus();
  await page.keyboard.press('Enter');
  assert.equal((await column())[0], shown(sorted[0]));
  assert.equal((await column()).at(-1), '–', 'what has no number comes last');
  assert.ok(await sort.evaluate((button) => button === document.activeElement));
  await page.keyboard.press('Enter');
  assert.equal((await column())[0], shown(sorted.at(-1)));
  assert.equal(await page.locator('#variants th[aria-sort=descending]').textContent(), 'cost');
}

// What is searched for, and the best of it, before the charts.
async function purpose(page, sweep) {
  const text = (await page.locator('main').textContent()).replace(/\s+/g, ' ');
  for (const part of ['why it was made', 'objectives: training time (lower is better), cost (lower',
    'only variants with: mfu > 0.1', 'every variant: seed=7'])
    assert.ok(text.includes(part), part);
  const best = page.locator('table', {hasText: 'The best by training time'}).first();
  const days = sweep.variants.map((one) => one.values[0]).filter((one) => one !== null)
    .sort((a, b) => a - b).slice(0, 10);
  const shown = await best.locator('tbody td:nth-child(6)').allTextContents();
  assert.equal(shown.length, 10);
  shown.forEach((text, i) => assert.ok(Math.abs(parseFloat(text) / days[i] - 1) < 5e-4, text));
  assert.match(await page.locator('table', {hasText: 'Axes'}).first().textContent(),
    /tiers3not set, 2, 3/);
  assert.deepEqual(await page.locator('nav.contents a').evaluateAll((all) =>
    all.map((link) => link.getAttribute('href'))), ['#pareto', '#grid', '#variants']);
}

// Of many metrics the objectives come first; those that no comparison shows only when asked for.
async function manyMetrics({build, folder, open}) {
  const long = 'x'.repeat(3000);
  const sweep = fixtures.sweep({sizes: Array.from({length: 20}, (_, i) => String(64 + i))});
  sweep.metrics.unshift(...Array.from({length: 6}, (_, i) =>
    ({key: `other${i}`, title: `other ${i}`, unit: '1'})));
  for (const one of sweep.variants) {
    one.values.unshift(0, 1, 2, 3, 4, 5);
    if (one.status !== 'ok') Object.assign(one, {reason: long, axes: [64, long, 'off', null],
      values: one.values.map(() => null)});
  }
  const page = await open(fixtures.writePage(build, folder, 'metrics', sweep));
  // Nobody has scrolled to the table.
  const heads = page.locator('#variants thead th:visible');
  assert.deepEqual((await heads.allTextContents()).slice(6), ['training time', 'cost', 'MFU',
    'reason']);
  assert.equal(await page.locator('#variants th[aria-sort=none] button').count(), 16);
  const arrow = await page.locator('#variants th button').first().evaluate((button) =>
    getComputedStyle(button, '::after').content);
  assert.match(arrow, /↕/);
  assert.match(await page.locator('table', {hasText: 'Axes'}).first().textContent(),
    /cluster.servers2064, .*, 75, … and 8 more/);
  const heights = await page.locator('#variants tbody tr').evaluateAll((all) =>
    all.map((row) => row.getBoundingClientRect().height));
  assert.ok(Math.max(...heights) < 40, `${Math.max(...heights)}`);
  assert.equal(await page.locator('#variants tbody tr', {hasText: 'infeasible'}).first()
    .locator('td').last().getAttribute('title'), long);
  await page.locator('#variants input').check();
  assert.equal((await heads.allTextContents()).at(-2), 'other 5');
  await page.locator('#variants th button', {hasText: 'state'}).click();
  assert.equal(await page.locator('#variants tbody tr').first().locator('td:visible').count(), 15);
  assert.equal(await page.locator('#variants tbody td[title]').first().getAttribute('title'), long);
  await page.locator('#variants input').uncheck();
  assert.equal(await page.locator('#variants tbody tr').first().locator('td:visible').count(), 9);
  await page.context().close();
}

await withBrowser(async ({build, folder, open}) => {
  const sweep = fixtures.sweep();
  const page = await open(fixtures.writePage(build, folder, 'sweep', sweep));
  await drawAll(page);
  await pareto(page, sweep);
  await grid(page, sweep);
  await variants(page, sweep);
  assert.match(await page.locator('main').textContent(), /infeasible6too few DPUs/);
  await logMarks(page);
  await purpose(page, sweep);
  await manyMetrics({build, folder, open});
  // 300 variants: the table has 200 of them, and sorts all.
  const large = fixtures.sweep({sizes: Array.from({length: 17}, (_, i) => String(64 + i))});
  const big = await open(fixtures.writePage(build, folder, 'large', large));
  await drawAll(big);
  assert.equal(await big.locator('#variants tbody tr').count(), 200);
  await big.locator('#variants th button', {hasText: 'training time'}).click();
  const best = Math.min(
    ...large.variants.map((one) => one.values[0]).filter((one) => one !== null));
  assert.equal(await big.locator('#variants tbody td:nth-child(7)').first().textContent(),
    `${Number(best.toPrecision(4))} d`);
  // Nothing has a result: no charts, still a page.
  for (const one of sweep.variants)
    Object.assign(one, {status: 'failed', values: [null, null, null]});
  const none = await open(fixtures.writePage(build, folder, 'none', sweep));
  await drawAll(none);
  assert.deepEqual(await none.locator('figure').evaluateAll((all) => all.map((one) => one.id)),
    ['variants']);
});
