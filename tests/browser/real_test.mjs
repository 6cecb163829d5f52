// Pages of real runs: what they show is what result.json, the timeline and sweep.csv hold.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';
import {downloadCsv, drawAll, withBrowser} from './browser.mjs';

const scenarios = join(dirname(fileURLToPath(import.meta.url)), '../../scenarios');

function trainyard({build, folder}, ...words) {
  try {
    execFileSync(join(build, 'trainyard'), words, {cwd: folder, stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 1e8});
  } catch (error) {
    if (error.status !== 4) throw error;  // variants without a result
  }
}

const near = (a, b) => assert.ok(Math.abs(a / b - 1) < 1e-9, `${a} instead of ${b}`);
const close = (page) => page.context().close();

// GPT-3 on 128 GPUs: every number of the table of shares, and the bar in the middle of a lane
// below the critical path.
async function aRun(context) {
  const out = join(context.folder, 'run');
  trainyard(context, 'run', join(scenarios, 'scale/gpt3-1024.json'), '--set', 'cluster.servers=16',
    '--set', 'jobs.0.workload.global_batch=64', '--out', out);
  const result = JSON.parse(readFileSync(join(out, 'result.json'), 'utf8'));
  const page = await context.open(join(out, 'report.html'));
  await drawAll(page);
  assert.deepEqual(await page.evaluate(() =>
    [...document.querySelectorAll('figure')].map((figure) => figure.id)),
  ['run-1-job-time', 'run-1-stage-time', 'run-1-timeline', 'run-1-critical', 'run-1-utilization',
    'run-1-network']);
  const [, row] = (await downloadCsv(page, 'run-1-job-time')).trimEnd().split('\n');
  const cells = row.replace(/"[^"]*"/, 'name').split(',').slice(1).map(Number);
  const {metrics} = result;
  near(cells.reduce((sum, cell) => sum + cell), metrics.step_time_s);
  near(cells[0], metrics.gpu_compute_fraction * metrics.step_time_s);
  near(cells[1], metrics.gpu_wait_fractions.network * metrics.step_time_s);
  const shown = (await page.locator('dd').allTextContents()).join(' ');
  assert.ok(shown.includes(`${(100 * metrics.mfu).toFixed(2)}%`), shown);
  await aBar(page, out);
  await close(page);
}

async function aBar(page, out) {
  const lines = gunzipSync(readFileSync(join(out, 'timeline.jsonl.gz'))).toString().trimEnd()
    .split('\n').map((line) => JSON.parse(line));
  const [head, ...bars] = lines;
  const bar = bars.filter(([lane]) => lane === 0)[5];
  const plot = page.locator('#run-1-timeline .plot');
  await plot.scrollIntoViewIfNeeded();
  const [x, y] = await page.evaluate(([time]) => {
    const {chart, plot: box} = document.getElementById('run-1-timeline').view;
    const {left, top} = box.getBoundingClientRect();
    const [dx, dy] = chart.convertToPixel('grid', [time, 1]);
    return [left + dx, top + dy];
  }, [bar[4] + bar[5] / 2]);
  await page.mouse.move(x, y);
  await page.waitForTimeout(100);
  const tip = await page.locator('#run-1-timeline .tip').allTextContents();
  assert.ok(tip.join().includes(head.names[bar[1]]), tip.join());
  assert.ok(tip.join().includes(`rank${head.lanes[0].rank}`), tip.join());
}

// The claim's two designs: the table's simulated cells are those of compare.json.
async function aComparison(context) {
  const out = join(context.folder, 'compare');
  trainyard(context, 'compare', join(scenarios, 'claim/traditional.json'),
    join(scenarios, 'claim/dpu.json'), '--out', out);
  const {rows} = JSON.parse(readFileSync(join(out, 'compare.json'), 'utf8'));
  const page = await context.open(join(out, 'report.html'));
  await drawAll(page);
  const csv = (await downloadCsv(page, 'claim')).trimEnd().split('\n').slice(1);
  const claimed = rows.filter((row) => row.claim);
  for (const row of claimed) {
    row.values.forEach((value, i) => {
      if (row.claim[i] === null || row.claim[i] === undefined) return;
      assert.ok(csv.some((line) => line.includes(String(value))), `${row.metric} ${value}`);
    });
  }
  const heads = page.locator('table', {hasText: 'Simulated and claimed'}).first().locator('thead');
  assert.match(await heads.textContent(), /traditional.*dpu/s);
  await close(page);
}

// A sweep, with variants that do not fit: as many rows as sweep.csv, the same numbers.
async function aSweep(context) {
  const out = join(context.folder, 'sweep');
  trainyard(context, 'sweep', join(scenarios, 'scale/gpt3-1024.json'),
    '--axis', 'jobs.0.workload.pipeline=4,8,16', '--axis', 'cluster.server.nic.rate=200 Gb/s,400 Gb/s',
    '--out', out);
  const [head, ...lines] = readFileSync(join(out, 'sweep.csv'), 'utf8').trimEnd().split('\n');
  const page = await context.open(join(out, 'report.html'));
  await drawAll(page);
  assert.equal(await page.locator('#variants tbody tr').count(), 6);
  const [titles, ...rows] = (await downloadCsv(page, 'variants')).trimEnd().split('\n');
  assert.equal(rows.length, lines.length);
  const at = head.split(',').indexOf('step_time_s');
  const there = titles.split(',').findIndex((title) => title.startsWith('step time'));
  // The reason is quoted and last in the one, before the metrics in the other.
  lines.forEach((line, i) => {
    if (!line.includes(',ok,')) return;
    assert.equal(rows[i].split(',')[there], line.split(',')[at]);
  });
  assert.match(await page.locator('body').textContent(), /infeasible/);
  await close(page);
}

// The folder alone gives the same page.
async function again(context) {
  for (const name of ['run', 'compare', 'sweep']) {
    const file = join(context.folder, name, 'report.html');
    const before = readFileSync(file);
    trainyard(context, 'report', join(context.folder, name));
    assert.ok(before.equals(readFileSync(file)), name);
  }
}

await withBrowser(async (context) => {
  await aRun(context);
  await aComparison(context);
  await aSweep(context);
  await again(context);
});
