// Documents as `run`, `compare` and a sweep write them, with recordings made by hand: what the
// pages of the tests show.
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';

export const hostile = '</script><img src=x onerror=alert(1)>';

// Numbers that look random and are the same each time.
function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function result(name, more = {}) {
  return {
    schema_version: 1, name,
    provenance: {program: 'trainyard', version: '0.0.0', git: 'abcdef1', seed: 7,
      simgrid: {version: '3.32', options: {'network/model': 'CM02'}},
      scenario_sha256: '9bf38385402e8234c751ccb2bd1664f72444a32a13f15a79e093d0a992847fb8'},
    metrics: {
      step_time_s: 3.9375, tokens_per_s: 266306.9, mfu: 0.283, gpu_utilization: 0.8345,
      gpu_wait_fractions: {network: 0.16, storage: 0.02, host: 0.01, nvlink: 0.1, bubble: 0.1},
      equipment: [
        {equipment: 'GPUs', count: 2048, average_power_w: 522194.2, energy_mwh: 255.8,
          capital_usd: 0},
        {equipment: 'server boards, fans, NVSwitches', count: 256, average_power_w: 358400,
          energy_mwh: 175.6, capital_usd: 50944000},
        {equipment: 'switches', count: 324, average_power_w: 83643.6, energy_mwh: 40.98,
          capital_usd: 6480000}],
    },
    inactive: [], jobs: [{name: 'training', metrics: {}}], collectives: [], probes: {},
    parameters: [
      {pointer: '/cluster/server/gpus', value: 8, kind: 'sourced', text: 'a data sheet'}],
    scenario: {description: 'a made-up run'}, ...more,
  };
}

// Forward and backward of micro-batches on each stage, messages between them, an all-reduce last.
export function timeline({ranks = 8, micro = 16, text = ''} = {}) {
  const streams = ['compute', 'pipeline', 'data'];
  const lanes = [];
  const t = {lane: [], name: [], role: [], number: [], start_s: [], duration_s: [], bytes: []};
  const put = (lane, name, role, number, start, duration, bytes) => {
    t.lane.push(lane); t.name.push(name); t.role.push(role); t.number.push(number);
    t.start_s.push(start); t.duration_s.push(duration); t.bytes.push(bytes);
  };
  const random = generator(1);
  const unit = 3 / (3 * (micro + ranks));
  for (let rank = 0; rank < ranks; ++rank) {
    for (const stream of streams)
      lanes.push({rank, stream: stream + text, stage: rank, stands_for: rank % 2 ? 1 : 16});
    for (let i = 0; i < micro; ++i) {
      const start = unit * (rank + 3 * i);
      put(3 * rank, 0, 0, i, start, unit * (0.8 + 0.2 * random()), null);
      put(3 * rank, 1, 0, i, start + unit, unit * 1.9, null);
    }
    for (let i = 0; i < micro; ++i)
      put(3 * rank + 1, 2, 1, i, unit * (rank + 3 * i + 1), unit * 0.3, 50331648);
    put(3 * rank + 2, 3, 2, 0, 3.2, 0.3, 906e6);
    put(3 * rank + 2, 4, 1, 0, 3.5, 0.4375, 933e6);
  }
  return {lanes, names: ['forward', 'backward', 'activations', 'reduce inside', 'all-reduce']
    .map((name) => name + text),
  roles: ['compute', 'network', 'nvlink', 'storage', 'host', 'other'],
  ...t, bars: t.lane.length, left_out: 0};
}

function series(text) {
  const bins = 60;
  const wave = (phase, height) => Array.from({length: bins}, (_, i) =>
    Math.abs(height * Math.sin(i / 6 + phase)));
  return {bin_s: 3.9375 / bins, bins, columns: [
    {key: 'gpu', title: `GPU kernels${text}`, resource: 'GPU', unit: '1', values: wave(1, 0.9)},
    {key: 'nic_out', title: 'NICs out', resource: 'NIC', unit: '1', values: wave(2, 0.5)},
    {key: 'nic_in', title: 'NICs in', resource: 'NIC', unit: '1', values: wave(2.5, 0.4)},
    {key: 'host_cpu_network', title: 'host cores', resource: 'CPU', unit: '1',
      values: wave(0, 0.3)},
    {key: 'storage_read', title: 'storage reads', resource: 'storage', unit: '1',
      values: wave(3, 0.1)}]};
}

// A two-tier fat tree: `leaves` times `down` servers with as many NICs as rails.
export function network({leaves = 4, spines = 2, down = 4, nics = 1, text = ''} = {}) {
  const random = generator(2);
  const nodes = [];
  const links = [];
  const link = (from, to, tier, direction) => {
    const load = Math.round(1000 * random()) / 1000;
    links.push({from, to, tier, direction, capacity_bytes_per_s: 5e10,
      carried_bytes: load * 5e10 * 3.9375, load});
  };
  const both = (low, high, tier) => { link(low, high, tier, 'up'); link(high, low, tier, 'down'); };
  for (let s = 0; s < leaves * down; ++s)
    nodes.push({name: `server${s}${text}`, kind: 'server', tier: 0});
  for (let l = 0; l < leaves; ++l) nodes.push({name: `leaf${l}`, kind: 'switch', tier: 1});
  for (let s = 0; s < spines; ++s) nodes.push({name: `spine${s}`, kind: 'switch', tier: 2});
  for (let s = 0; s < leaves * down; ++s) {
    for (let n = 0; n < nics; ++n)
      both(`server${s}${text}/nic${n}`, `leaf${Math.floor(s / down)}`, 0);
  }
  for (let l = 0; l < leaves; ++l) {
    for (let s = 0; s < spines; ++s) both(`leaf${l}`, `spine${s}`, 1);
  }
  return {nodes, links};
}

function accounts(ranks) {
  return Array.from({length: ranks}, (_, rank) => ({rank, stage: Math.floor(rank / 2),
    stands_for: rank % 2 ? 1 : 16, compute_s: 2.4, network_s: 0.6 + 0.05 * rank, nvlink_s: 0.4,
    host_s: 0.05, storage_s: 0.02, bubble_s: 0.4675 - 0.05 * rank}));
}

// From stage to stage, then the all-reduce of the last one; the last segment's gain was left out.
export function criticalPath(text = '') {
  const segments = Array.from({length: 7}, (_, i) =>
    [i, `forward${text}`, 'compute', i, 0.5 * i, 0.5, i === 6 ? 0.25 : 0]);
  return {waiting_s: 0, segments: [...segments, [7, `all-reduce${text}`, 'network', 0, 3.5, 0.4375,
    null]],
  labels: [
    {name: `forward${text}`, role: 'compute', stream: 'compute', time_s: 3.5, share: 3.5 / 3.9375,
      gain_s: 1.25, gain_10_percent_s: 0.3},
    {name: `all-reduce${text}`, role: 'network', stream: 'data', time_s: 0.4375,
      share: 0.4375 / 3.9375, gain_s: null, gain_10_percent_s: null}],
  notes: [`what a gain is${text}`]};
}

export function recording({text = '', size = {}, links = {}, path = false} = {}) {
  const {nodes, links: all} = network({text, ...links});
  return {end_s: 3.9375, notes: [`one tensor rank stands for 8${text}`],
    timeline: timeline({text, ...size}), series: series(text), links: all, nodes,
    links_left_out: 0, accounts: accounts(8), ...(path ? {critical_path: criticalPath(text)} : {})};
}

export function run(more = {}) {
  return result('a recorded run', {recording: recording(), ...more});
}

export function collectives(text = '') {
  const row = (power, time) => ({size_bytes: 2 ** power, time_s: time, ranks: 64,
    algbw_bytes_per_s: 2 ** power / time, busbw_bytes_per_s: 1.97 * 2 ** power / time,
    algorithm: `ring${text}`, protocol: `simple${text}`});
  const rows = Array.from({length: 11}, (_, i) => row(10 + 2 * i, 2e-5 + 2 ** (10 + 2 * i) / 45e9));
  const job = (name, factor) => ({name, metrics: {collective: 'all_reduce',
    rows: rows.map((r) => ({...r, time_s: r.time_s * factor,
      busbw_bytes_per_s: r.busbw_bytes_per_s / factor}))}});
  return result('collectives', {metrics: {collective: 'all_reduce', rows}, jobs: [
    {...job(`all-reduce${text}`, 1), measured: rows.filter((_, i) => i % 2 === 0).map((r) =>
      ({bytes: r.size_bytes, time_s: r.time_s * 1.1,
        busbw_bytes_per_s: r.busbw_bytes_per_s / 1.1}))},
    job(`all-reduce, slow${text}`, 3)]});
}

export function sweep({sizes = ['64', '128', '256', '512'], text = ''} = {}) {
  const axes = [{name: `cluster.servers${text}`, values: sizes},
    {name: 'transport', values: [`tcp${text}`, 'rdma', 'dpu']},
    {name: 'overlap', values: ['off', 'on']}, {name: 'tiers', values: [null, '2', '3']}];
  const random = generator(3);
  const variants = [];
  for (const servers of sizes) {
    for (const transport of axes[1].values) {
      for (const overlap of axes[2].values) {
        for (const tiers of axes[3].values) {
          const failed = transport === 'dpu' && servers === sizes[0];
          const days = 4000 / Number(servers) * (transport === 'rdma' ? 1 : 1.3 + random()) *
            (overlap === 'on' ? 0.9 : 1);
          const cost = 900 * Number(servers) ** 1.4 * days * (transport === 'dpu' ? 0.8 : 1);
          variants.push({id: String(variants.length + 1), axes: [Number(servers), transport, overlap,
            tiers], status: failed ? 'infeasible' : 'ok',
          reason: failed ? `too few DPUs${text}` : '',
          values: failed ? [null, null, null] : [days, cost, 0.3 + 0.2 * random()]});
        }
      }
    }
  }
  const count = (status) => variants.filter((one) => one.status === status).length;
  return {schema_version: 1, name: `a sweep${text}`, scenario: 'base.json',
    provenance: {program: 'trainyard', version: '0.0.0', git: 'abcdef1'}, axes,
    description: `why it was made${text}`, constraints: [`mfu > 0.1${text}`], sets: [`seed=7${text}`],
    metrics: [{key: 'training_days', title: 'training time', unit: 'd'},
      {key: 'cost_usd', title: 'cost', unit: 'USD'}, {key: 'mfu', title: 'MFU', unit: '1'}],
    objectives: ['training_days', 'cost_usd'],
    counts: {ok: count('ok'), excluded: 0, infeasible: count('infeasible'), invalid: 0, failed: 0,
      missing: 0}, variants, left_out: 0};
}

// Every string of a document becomes the text; keys stay.
export function fill(node, text, spared = []) {
  if (typeof node === 'string') return text;
  if (Array.isArray(node)) return node.map((one) => fill(one, text, spared));
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) =>
    [key, spared.includes(key) ? value : fill(value, text, spared)]));
}

// Writes the report on a document into the folder and returns its path.
export function writePage(build, folder, name, document) {
  const file = join(folder, `${name}.json`);
  const page = join(folder, `${name}.html`);
  writeFileSync(file, JSON.stringify(document));
  writeFileSync(page, execFileSync(join(build, 'tests/browser/report_page'), [file],
    {maxBuffer: 2 ** 28}));
  return page;
}
