// What the step hangs on: for each label its time on the critical path and what shortening it gains.
(() => {
  const {format, colors, tip, variable} = trainyard;
  const kTime = 1;
  const kGain = 3;
  const kTenth = 4;

  const colorOf = (view, row) => colors[view.data.roles[row]] ?? colors.other;

  const kWide = 18;
  const kNarrow = 10;

  // A light bar for the time on the path, and in its middle a narrower one for the gain.
  function bars(view, column, more) {
    return {
      type: 'bar', name: view.data.columns[column].title, barGap: `-${50 + 50 * kNarrow / kWide}%`, ...more,
      data: view.data.rows.map((row, i) =>
        ({value: row[column] ?? 0, itemStyle: {color: colorOf(view, i), ...more.itemStyle}})),
    };
  }

  function lines(view, row) {
    return view.data.columns.slice(1).map((column, i) =>
      [column.title, format.show(column, view.data.rows[row][i + 1])]);
  }

  function option(view) {
    const {columns, rows} = view.data;
    const gain = Number(view.state.gain);
    return {
      grid: {left: 12, right: 24, top: 8, bottom: 44, containLabel: true},
      tooltip: view.tooltip((at) => tip(rows[at.dataIndex][0], lines(view, at.dataIndex))),
      xAxis: view.axis({type: 'value', name: 'time (s): light on the path, dark gained', nameGap: 28,
        axisLabel: {formatter: (x) => format.tick(columns[kTime], x)}}),
      yAxis: view.axis({type: 'category', inverse: true, data: rows.map((row) => row[0]),
        axisLabel: {width: 260, overflow: 'truncate', interval: 0}}),
      series: [
        bars(view, kTime, {barWidth: kWide,
          itemStyle: {opacity: 0.3, borderColor: variable('--ink'), borderWidth: 0.5}}),
        bars(view, gain, {barWidth: kNarrow, itemStyle: {}}),
      ],
    };
  }

  trainyard.add('critical', {
    height: (view) => 70 + 28 * Math.max(view.data.rows.length, 3),
    option,
    setup(view) {
      view.select('Gain', 'gain', [kGain, kTenth].map((column) =>
        [column, view.data.columns[column].title.replace(/^gain /, '')]));
    },
  });
})();
