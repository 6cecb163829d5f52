// Where time goes: a stacked bar for each stage or run.
(() => {
  const {format, colors, series, tip, variable} = trainyard;

  const colorOf = (key, i) => colors[key] ?? series[i % series.length];

  function rowTotal(view, row) {
    return row.slice(1).reduce((sum, value, i) =>
      sum + (view.hidden.has(view.data.keys[i]) ? 0 : value), 0);
  }

  function option(view) {
    const {columns, rows, keys} = view.data;
    const share = view.state.as === 'share';
    const totals = rows.map((row) => rowTotal(view, row));
    const value = share ? {title: 'share', form: 'share'} : columns[1];
    const shown = keys.map((key, i) => ({key, i})).filter((one) => !view.hidden.has(one.key));
    return {
      grid: {left: 12, right: 24, top: 8, bottom: 44, containLabel: true},
      tooltip: view.tooltip((at) => tip(rows[at.dataIndex][0], keys.map((key, i) => [
        columns[i + 1].title,
        `${format.show(columns[i + 1], rows[at.dataIndex][i + 1])} (${
          (100 * rows[at.dataIndex][i + 1] / (totals[at.dataIndex] || 1)).toFixed(2)}%)`,
        colorOf(key, i)]).filter((line, i) => !view.hidden.has(keys[i])))),
      xAxis: view.axis({type: 'value', nameGap: 28, max: share ? 1 : undefined,
        name: share ? 'share of the time' : `time (${columns[1].unit || 's'})`,
        axisLabel: {formatter: (x) => format.tick(value, x)}}),
      yAxis: view.axis({type: 'category', inverse: true, data: rows.map((row) => row[0]),
        axisLabel: {width: 220, overflow: 'truncate', interval: 0}}),
      series: shown.map(({key, i}) => ({
        type: 'bar', stack: 'all', name: columns[i + 1].title, barMaxWidth: 34,
        itemStyle: {color: colorOf(key, i), borderColor: variable('--paper'), borderWidth: 0.5},
        data: rows.map((row, r) => share ? row[i + 1] / (totals[r] || 1) : row[i + 1]),
        label: {show: true, color: '#fff', textBorderColor: '#0008', textBorderWidth: 2,
          formatter: (at) => label(rows[at.dataIndex][i + 1] / (totals[at.dataIndex] || 1))},
      })),
    };
  }

  // Where there is room for it.
  function label(share) {
    return share >= 0.05 ? `${(100 * share).toFixed(0)}%` : '';
  }

  trainyard.add('stages', {
    height: (view) => 70 + 40 * Math.max(view.data.rows.length, 2),
    option,
    setup(view) {
      view.select('Show', 'as', [['time', 'time'], ['share', 'share']]);
      view.legend(view.data.keys.map((key, i) =>
        ({key, title: view.data.columns[i + 1].title, color: colorOf(key, i)})));
    },
  });
})();
