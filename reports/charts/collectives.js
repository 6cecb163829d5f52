// Bus bandwidth and time of collectives against size, both axes logarithmic; measured points are
// hollow.
(() => {
  const {format, series, symbols, tip, variable} = trainyard;
  const [JOB, SOURCE, SIZE, , TIME, , BUS, ALGORITHM, PROTOCOL, MEASURED, ERROR] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

  function groups(view) {
    const all = new Map();
    for (const row of view.data.rows) {
      const key = JSON.stringify([row[JOB], row[SOURCE]]);
      if (!all.has(key)) all.set(key, []);
      all.get(key).push(row);
    }
    return [...all].map(([key, rows]) => ({key, rows: rows.sort((a, b) => a[SIZE] - b[SIZE])}));
  }

  function jobs(view) {
    return [...new Set(view.data.rows.map((row) => row[JOB]))];
  }

  const colorOf = (view, job) => series[jobs(view).indexOf(job) % series.length];

  function lines(view, column, grid) {
    return groups(view).filter((group) => !view.hidden.has(group.key)).map(({rows}) => {
      const simulated = rows[0][SOURCE] === 'simulated';
      const color = colorOf(view, rows[0][JOB]);
      return {
        type: simulated ? 'line' : 'scatter', xAxisIndex: grid, yAxisIndex: grid,
        name: `${rows[0][JOB]}, ${rows[0][SOURCE]}`,
        symbol: simulated ? symbols[jobs(view).indexOf(rows[0][JOB]) % symbols.length]
          : 'emptyDiamond',
        symbolSize: simulated ? 7 : 11, showAllSymbol: true,
        lineStyle: {color, width: 2},
        itemStyle: {color}, z: simulated ? 2 : 3,
        data: rows.filter((row) => row[column] > 0)
          .map((row) => ({value: [row[SIZE], row[column]], row})),
      };
    });
  }

  function describe(view, row) {
    const {columns} = view.data;
    const value = (column) => format.show(columns[column], row[column]);
    const measured = typeof row[ERROR] === 'number'
      ? [['measured', value(MEASURED)], ['simulated / measured − 1', value(ERROR)]] : [];
    return tip(`${row[JOB]}, ${row[SOURCE]}`, [
      ['size', value(SIZE)], ['time', value(TIME)], ...measured,
      ['bus bandwidth', value(BUS)], ['algorithm', value(ALGORITHM)],
      ['protocol', value(PROTOCOL)]]);
  }

  // Powers of 4, or of 16 and more where those would be many.
  function powers(from, to) {
    const most = 12;
    let step = 2;
    while ((to - from) / step > most) step *= 2;
    const first = Math.ceil(from / step) * step;
    return Array.from({length: Math.floor((to - first) / step) + 1},
      (_, i) => 2 ** (first + i * step));
  }

  function option(view) {
    const sizes = view.data.rows.map((row) => row[SIZE]);
    const from = Math.floor(Math.log2(Math.min(...sizes)));
    const to = Math.max(Math.ceil(Math.log2(Math.max(...sizes))), from + 1);
    const ticks = powers(from, to);
    const size = (gridIndex, name) => view.axis({
      type: 'log', logBase: 2, gridIndex, name, nameGap: 30, min: 2 ** from, max: 2 ** to,
      axisTick: {customValues: ticks, lineStyle: {color: variable('--line')}},
      axisLabel: {customValues: ticks, formatter: format.binary}});
    const value = (gridIndex, column, form) => view.logAxis(
      view.data.rows.map((row) => row[column]).filter((number) => number > 0),
      {gridIndex, name: view.data.columns[column].title, nameGap: 62,
        axisLabel: {formatter: (x) => format.tick({form}, x)}});
    const side = {left: 84, right: 30, outerBoundsMode: 'none'};
    return {
      grid: [{...side, top: 12, height: 190}, {...side, top: 240, height: 190}],
      tooltip: view.tooltip((at) => describe(view, at.data.row)),
      xAxis: [size(0, ''), size(1, 'size')],
      yAxis: [value(0, BUS, 'rate'), value(1, TIME, 'seconds')],
      series: [...lines(view, BUS, 0), ...lines(view, TIME, 1)],
      textStyle: {color: variable('--ink'), fontFamily: 'system-ui, sans-serif'},
    };
  }

  trainyard.add('collectives', {
    height: () => 490,
    option,
    setup(view) {
      view.legend(groups(view).map(({key, rows}) => ({key, color: colorOf(view, rows[0][JOB]),
        title: `${rows[0][JOB]}, ${rows[0][SOURCE]}`, stroke: rows[0][SOURCE] === 'simulated' ? 'solid' : 'dotted'})));
    },
  });
})();
