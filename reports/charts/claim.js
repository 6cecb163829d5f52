// Simulated as a share of claimed. What lies far away stands at the edge with its number.
(() => {
  const {format, colorOfRun, symbols, tip, variable} = trainyard;
  const [METRIC, RUN, SIMULATED, CLAIMED, RATIO] = [0, 1, 2, 3, 4];

  const distinct = (view, column) => [...new Set(view.data.rows.map((row) => row[column]))];

  const farthest = (view) => view.data.rows.reduce((most, row) =>
    Math.max(most, Math.abs(row[RATIO] - 1)), view.data.close * 1.2);

  function point(row, reach, offset) {
    const off = Math.abs(row[RATIO] - 1) > reach;
    const side = row[RATIO] < 1 ? -1 : 1;
    return {
      value: [off ? 1 + side * reach : row[RATIO], row[METRIC]], row,
      symbol: off ? 'triangle' : undefined, symbolRotate: off ? side * -90 : 0,
      symbolOffset: [0, offset],
      label: {show: off, position: side < 0 ? 'right' : 'left', color: variable('--ink'),
        formatter: () => change(row)},
    };
  }

  const change = (row) => `${row[RATIO] < 1 ? '' : '+'}${(100 * (row[RATIO] - 1)).toFixed(1)}%`;

  function option(view) {
    const names = distinct(view, METRIC);
    const runs = distinct(view, RUN);
    const reach = view.state.range === 'all' ? farthest(view)
      : Math.min(farthest(view), Number(view.state.range));
    const {close} = view.data;
    return {
      grid: {left: 12, right: 36, top: 12, bottom: 44, containLabel: true},
      tooltip: view.tooltip((at) => tip(`${at.data.row[METRIC]}, ${at.data.row[RUN]}`, [
        ['simulated', at.data.row[SIMULATED]], ['claimed', at.data.row[CLAIMED]],
        ['deviation', change(at.data.row)]])),
      xAxis: view.axis({type: 'value', min: 1 - reach * 1.05, max: 1 + reach * 1.05, nameGap: 28,
        name: 'simulated / claimed (%); shaded: within 5%',
        axisLabel: {formatter: (x) => format.tick({form: 'share'}, x)}}),
      yAxis: view.axis({type: 'category', inverse: true, data: names, splitLine: {show: true,
        lineStyle: {color: variable('--line'), opacity: 0.6}},
        axisLabel: {interval: 0, width: 220, overflow: 'truncate'}}),
      series: runs.filter((run) => !view.hidden.has(run)).map((run, i) => ({
        type: 'scatter', name: run, symbol: symbols[runs.indexOf(run) % symbols.length],
        symbolSize: 12, itemStyle: {color: colorOfRun(view, run)},
        data: view.data.rows.filter((row) => row[RUN] === run)
          .map((row) => point(row, reach, 11 * (runs.indexOf(run) - (runs.length - 1) / 2))),
        markArea: i > 0 ? undefined : {silent: true, itemStyle: {color: '#009e7322'},
          data: [[{xAxis: 1 - close}, {xAxis: 1 + close}]]},
        markLine: i > 0 ? undefined : {silent: true, symbol: 'none', data: [{xAxis: 1}],
          label: {show: false}, lineStyle: {color: variable('--dim'), type: 'solid'}},
      })),
    };
  }

  trainyard.add('claim', {
    height: (view) => 76 + (14 + 11 * distinct(view, RUN).length) *
      Math.max(distinct(view, METRIC).length, 2),
    option,
    setup(view) {
      view.select('Range', 'range', [['0.1', '±10%'], ['0.5', '±50%'], ['all', 'all']]);
      view.legend(distinct(view, RUN).map((run) =>
        ({key: run, title: run, color: colorOfRun(view, run)})));
    },
  });
})();
