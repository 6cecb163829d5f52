// Shares of capacity over time. A color says what kind of thing, a dash tells two of a kind apart.
(() => {
  const {format, colors, tip} = trainyard;
  const styles = {
    gpu: ['compute', 'solid'], nvlink: ['nvlink', 'solid'],
    nic_out: ['network', 'solid'], nic_in: ['network', 'dashed'], fabric: ['network', 'dotted'],
    host_cpu_network: ['host', 'solid'], host_memory: ['host', 'dashed'],
    dpu_cpu: ['other', 'solid'],
    storage_read: ['storage', 'solid'], storage_write: ['storage', 'dashed'],
  };
  const styleOf = (key) => styles[key] ?? ['other', 'dotted'];

  function option(view) {
    const {columns, rows, keys, bin_s: bin} = view.data;
    const shown = keys.map((key, i) => ({key, i})).filter((one) => !view.hidden.has(one.key));
    const end = bin * rows.length;
    return {
      grid: {left: 16, right: 24, top: 12, bottom: 44, containLabel: true},
      tooltip: view.tooltip((at) => {
        const row = rows[Math.min(at[0].dataIndex, rows.length - 1)];
        return tip(`${format.show(columns[0], row[0])} to ${format.show(columns[0], row[0] + bin)}`,
          shown.map(({key, i}) => [columns[i + 1].title, format.show(columns[i + 1], row[i + 1]),
            colors[styleOf(key)[0]], styleOf(key)[1]]));
      }, 'axis'),
      xAxis: view.axis({type: 'value', min: 0, max: end, name: 'time (s)', nameGap: 28,
        axisLabel: {formatter: (x) => format.tick(columns[0], Number(x.toPrecision(6)))}}),
      yAxis: view.axis({type: 'value', min: 0, max: (range) => (range.max > 0.5 ? 1 : null),
        name: 'share of capacity', nameGap: 46,
        axisLabel: {formatter: (x) => format.tick({form: 'share'}, x)}}),
      series: shown.map(({key, i}) => ({
        type: 'line', step: 'end', symbol: 'none', name: columns[i + 1].title,
        lineStyle: {color: colors[styleOf(key)[0]], type: styleOf(key)[1], width: 1.8},
        itemStyle: {color: colors[styleOf(key)[0]]},
        // The last value holds to the end of its bin.
        data: [...rows, [end, ...rows.at(-1).slice(1)]].map((row) => [row[0], row[i + 1]]),
      })),
    };
  }

  trainyard.add('utilization', {
    height: () => 320,
    option,
    setup(view) {
      view.legend(view.data.keys.map((key, i) => ({key, title: view.data.columns[i + 1].title,
        color: colors[styleOf(key)[0]], stroke: styleOf(key)[1]})));
    },
  });
})();
