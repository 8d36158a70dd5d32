// SPDX-License-Identifier: Apache-2.0
// Draws the charts of a report. What it draws stands in the element "data"; each chart has a table
// with the same numbers, so that the page says all without this.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const still = window.matchMedia('(prefers-reduced-motion: reduce)');
  const units = { bytes: [1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']], ns: [1000, ['ns', 'µs', 'ms', 's']] };

  function short(value, kind) {
    if (kind === 'percent') return `${Math.round(value)} %`;
    if (!(kind in units)) return value.toLocaleString('en');
    const [step, names] = units[kind];
    let index = 0;
    while (value >= step && index + 1 < names.length) {
      value /= step;
      ++index;
    }
    return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${names[index]}`;
  }

  function base(colors) {
    return {
      animation: !still.matches,
      backgroundColor: 'transparent',
      textStyle: { color: colors.text, fontFamily: 'system-ui, sans-serif' },
      aria: { enabled: true, decal: { show: false } },
      tooltip: { confine: true },
      color: colors.series,
    };
  }

  function axis(colors, extra) {
    return {
      axisLabel: { color: colors.soft, hideOverlap: true },
      nameTextStyle: { color: colors.soft },
      axisLine: { lineStyle: { color: colors.line } },
      splitLine: { lineStyle: { color: colors.line } },
      ...extra,
    };
  }

  function matrix(chart, colors) {
    const cells = [];
    let most = 0;
    chart.rows.forEach((row, from) => row.forEach((value, to) => {
      most = Math.max(most, value);
      if (value > 0) cells.push([to, from, value]);
    }));
    const labelled = chart.names.length <= 12;
    const points = cells.map((cell) => ({ value: cell, label: { color: cell[2] > most / 3 ? colors.onMost : colors.text } }));
    return {
      ...base(colors),
      tooltip: { confine: true, formatter: (point) => `${chart.part}${chart.names[point.value[1]]} → ${chart.part}${chart.names[point.value[0]]}: ${short(point.value[2], 'bytes')}` },
      grid: { left: 8, right: 24, top: 36, bottom: 64, containLabel: true },
      xAxis: axis(colors, { type: 'category', data: chart.names, name: 'to', nameLocation: 'middle', nameGap: 28, splitLine: { show: false } }),
      yAxis: axis(colors, { type: 'category', data: chart.names, name: 'from', inverse: true, nameLocation: 'start', splitLine: { show: false } }),
      visualMap: {
        min: 0, max: Math.max(most, 1), orient: 'horizontal', left: 'center', bottom: 0, itemHeight: 160,
        text: [short(most, 'bytes'), '0'], textStyle: { color: colors.soft }, formatter: (value) => short(value, 'bytes'),
        inRange: { color: colors.ramp },
      },
      series: [{ type: 'heatmap', data: points, label: { show: labelled, formatter: (point) => short(point.value[2], 'bytes') },
        itemStyle: { borderColor: colors.card, borderWidth: chart.names.length <= 64 ? 1 : 0 } }],
    };
  }

  function bars(chart, colors) {
    const across = chart.direction === 'across';
    const names = axis(colors, { type: 'category', data: chart.names, inverse: across, splitLine: { show: false } });
    const values = axis(colors, { type: 'value', max: chart.kind === 'percent' ? 100 : undefined });
    values.axisLabel = { ...values.axisLabel, formatter: (value) => short(value, chart.kind) };
    return {
      ...base(colors),
      tooltip: { trigger: 'axis', confine: true, axisPointer: { type: 'shadow' }, valueFormatter: (value) => short(value, chart.kind) },
      legend: { textStyle: { color: colors.text }, top: 0 },
      grid: { left: 8, right: 24, top: 36, bottom: 8, containLabel: true },
      xAxis: across ? values : names,
      yAxis: across ? names : values,
      series: chart.series.map((each) => ({ type: 'bar', stack: 'all', name: each.name, data: each.values })),
    };
  }

  function line(chart, colors) {
    const values = axis(colors, { type: 'value', max: 100 });
    values.axisLabel = { ...values.axisLabel, formatter: (value) => short(value, 'percent') };
    return {
      ...base(colors),
      tooltip: { trigger: 'axis', confine: true, valueFormatter: (value) => short(value, 'percent') },
      legend: { textStyle: { color: colors.text }, top: 0 },
      grid: { left: 8, right: 24, top: 36, bottom: 24, containLabel: true },
      xAxis: axis(colors, { type: 'category', data: chart.names, boundaryGap: false, name: 's', nameGap: 8, splitLine: { show: false } }),
      yAxis: values,
      series: chart.series.map((each) => ({ type: 'line', step: 'middle', symbol: 'none', areaStyle: { opacity: 0.25 }, name: each.name, data: each.values })),
    };
  }

  const kinds = { matrix, bars, line };
  const drawn = [];

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const colors = {
      text: value('--text'), soft: value('--soft'), line: value('--line'), card: value('--card'), onMost: dark.matches ? '#0d1117' : '#ffffff',
      series: dark.matches ? ['#58a6ff', '#ff9e64', '#8b949e', '#7ee787'] : ['#0969da', '#d1570a', '#6e7781', '#1a7f37'],
      ramp: dark.matches ? ['#1f2a44', '#2f81f7', '#a5d6ff'] : ['#ddf4ff', '#54aeff', '#0a3069'],
    };
    drawn.splice(0).forEach((each) => each.dispose());
    for (const place of document.querySelectorAll('.chart')) {
      const chart = data[place.dataset.chart];
      const drawing = echarts.init(place, null, { renderer: chart.form === 'matrix' && chart.names.length > 64 ? 'canvas' : 'svg' });
      const label = place.getAttribute('aria-label');
      drawing.setOption(kinds[chart.form](chart, colors));
      place.setAttribute('aria-label', label);
      drawn.push(drawing);
    }
    document.documentElement.dataset.drawn = String(drawn.length);
  }

  draw();
  dark.addEventListener('change', draw);
  window.addEventListener('resize', () => drawn.forEach((each) => each.resize()));
})();
