import { expect, it } from 'vitest';
import { Deck } from '../../prove/coordination/deck.ts';
import { Random } from '../../prove/coordination/random.ts';

const KINDS = ['kill', 'cut', 'hang', 'slow', 'pause'] as const;

function draw(seed: number, count: number): string[] {
  const deck = new Deck(KINDS, new Random(seed));
  return Array.from({ length: count }, () => deck.draw());
}

it('deals every kind once before any comes again, whatever the seed', () => {
  for (let seed = 0; seed < 200; seed += 1) {
    expect(draw(seed, KINDS.length).sort()).toEqual([...KINDS].sort());
  }
});

it('deals in an order of the seed', () => {
  expect(draw(7, 50)).toEqual(draw(7, 50));
  const orders = new Set(Array.from({ length: 50 }, (_, seed) => draw(seed, 5).join()));
  expect(orders.size).toBeGreaterThan(10);
});

it('says when every kind has come', () => {
  const deck = new Deck(KINDS, new Random(1));
  for (const _ of KINDS) {
    expect(deck.isThrough).toBe(false);
    deck.draw();
  }
  expect(deck.isThrough).toBe(true);
  expect(KINDS).toContain(deck.draw());
});
