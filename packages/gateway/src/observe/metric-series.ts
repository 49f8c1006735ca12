// What a metric counts under one set of labels, and how it is written in the Prometheus text format.

import type { HistogramData } from '@starloom/wire';

export interface Series {
  /** What is sent by OTLP. */
  readonly data: number | HistogramData;
  render(name: string, labels: string): string;
}

export class Counter implements Series {
  value = 0;

  get data(): number {
    return this.value;
  }

  add(amount = 1): void {
    this.value += amount;
  }

  render(name: string, labels: string): string {
    return sample(name, labels, this.value);
  }
}

export class Gauge implements Series {
  value = 0;

  get data(): number {
    return this.value;
  }

  set(value: number): void {
    this.value = value;
  }

  render(name: string, labels: string): string {
    return sample(name, labels, this.value);
  }
}

export class Histogram implements Series {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  get data(): HistogramData {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum };
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  render(name: string, labels: string): string {
    let text = '';
    let total = 0;
    for (const [index, count] of this.#counts.entries()) {
      total += count;
      const bound = `le="${this.#bounds[index] ?? '+Inf'}"`;
      text += sample(`${name}_bucket`, labels === '' ? bound : `${labels},${bound}`, total);
    }
    return text + sample(`${name}_sum`, labels, this.#sum) + sample(`${name}_count`, labels, total);
  }
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`;
}
