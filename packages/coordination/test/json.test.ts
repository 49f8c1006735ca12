import { describe, expect, it } from 'vitest';
import { digestibleJson, mergePatch, sameJson } from '../src/json/json.ts';
import { applyJsonPatch, jsonPatchSchema } from '../src/json/json-patch.ts';

const patch = (document: unknown, operations: unknown, copyBytes = 1_000) =>
  applyJsonPatch(document as never, jsonPatchSchema.parse(operations), { copyBytes });

describe('JSON Patch', () => {
  it.each([
    [
      'A.1',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz', value: 'qux' }],
      { baz: 'qux', foo: 'bar' },
    ],
    [
      'A.2',
      { foo: ['bar', 'baz'] },
      [{ op: 'add', path: '/foo/1', value: 'qux' }],
      { foo: ['bar', 'qux', 'baz'] },
    ],
    ['A.3', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    [
      'A.4',
      { foo: ['bar', 'qux', 'baz'] },
      [{ op: 'remove', path: '/foo/1' }],
      { foo: ['bar', 'baz'] },
    ],
    [
      'A.5',
      { baz: 'qux', foo: 'bar' },
      [{ op: 'replace', path: '/baz', value: 'boo' }],
      { baz: 'boo', foo: 'bar' },
    ],
    [
      'A.6',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'A.7',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'A.8',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      'A.10',
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    ['A.14', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    [
      'A.16',
      { foo: ['bar'] },
      [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
      { foo: ['bar', ['abc', 'def']] },
    ],
    ['root', { foo: 1 }, [{ op: 'replace', path: '', value: { bar: 2 } }], { bar: 2 }],
    [
      'copy',
      { a: { b: [1] } },
      [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'add', path: '/c/b/-', value: 2 },
      ],
      { a: { b: [1] }, c: { b: [1, 2] } },
    ],
    ['null', { a: null }, [{ op: 'test', path: '/a', value: null }], { a: null }],
  ])('does what RFC 6902 says (%s)', (_, document, operations, expected) => {
    const before = structuredClone(document);
    expect(patch(document, operations)).toEqual(expected);
    expect(document).toEqual(before);
  });

  it.each([
    ['A.9, a test that fails', { baz: 'qux' }, [{ op: 'test', path: '/baz', value: 'bar' }]],
    [
      'A.12, a target that is not there',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz/bat', value: 'qux' }],
    ],
    ['A.15, a number is not a string', { '/': 9 }, [{ op: 'test', path: '/~1', value: '9' }]],
    ['an index beyond the end', { a: [1] }, [{ op: 'add', path: '/a/2', value: 1 }]],
    ['an index with a leading zero', { a: [1, 2] }, [{ op: 'remove', path: '/a/01' }]],
    ['the end of a list is nothing to remove', { a: [1] }, [{ op: 'remove', path: '/a/-' }]],
    ['a value moved into itself', { a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b' }]],
    ['something inherited', {}, [{ op: 'test', path: '/toString', value: 1 }]],
  ])('refuses %s', (_, document, operations) => {
    expect(() => patch(document, operations)).toThrow();
  });

  it('ignores members of an operation that it does not know', () => {
    const commented = [{ op: 'add', path: '/u', value: 1, comment: 'x', from: '/none' }];
    expect(patch({}, commented)).toEqual({ u: 1 });
  });

  it.each([
    ['an own key', {}, [{ op: 'add', path: '/__proto__', value: { polluted: 1 } }]],
    ['a copy', { a: 1 }, [{ op: 'copy', from: '/a', path: '/__proto__' }]],
    ['a move', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/a/__proto__' }]],
    [
      'a constructor that gets a prototype',
      { constructor: {} },
      [{ op: 'add', path: '/constructor/prototype', value: 1 }],
    ],
    [
      'a prototype that gets a constructor',
      { a: { prototype: 1 } },
      [{ op: 'move', from: '/a', path: '/constructor' }],
    ],
  ])('does not reach prototypes by %s', (_, document, operations) => {
    expect(() => patch(document, operations)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: 'bad_params' }) }),
    );
    expect(({} as Record<string, unknown>).polluted).toBe(undefined);
  });

  it('lets keys be that only look like these', () => {
    const operations = [
      { op: 'add', path: '/constructor', value: { a: 1 } },
      { op: 'add', path: '/prototype', value: 2 },
    ];
    expect(patch({}, operations)).toEqual({ constructor: { a: 1 }, prototype: 2 });
  });

  it.each([
    ['into itself', '/d', (n: number) => `/d/n${n}`, 25],
    ['beside itself', '/d', (n: number) => `/n${n}`, 1_000],
    ['over itself', '/d', () => '/d', 1_000],
    ['into the whole', '', (n: number) => `/n${n}`, 25],
  ])('refuses to copy a value %s until it is too much', (_, from, path, steps) => {
    const document = { d: { a: 'x'.repeat(1_000), list: [1, { b: true }] } };
    const before = structuredClone(document);
    const operations = Array.from({ length: steps }, (_, n) => ({
      op: 'copy',
      from,
      path: path(n),
    }));
    const details = { reason: 'quota', limit: 'context_bytes', allowed: 100_000 };
    expect(() => patch(document, operations, 100_000)).toThrow(
      expect.objectContaining({ details: expect.objectContaining(details) }),
    );
    expect(document).toEqual(before);
  });

  it('copies as much as is allowed, as JSON text', () => {
    const document = { d: [{ text: 'abcdef', on: true }, [1, 2, 3], null] };
    const bytes = JSON.stringify(document.d).length;
    const copy = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ op: 'copy', from: '/d', path: `/n${n}` }));
    expect(Object.keys(patch(document, copy(10), 10 * bytes) as object)).toHaveLength(11);
    expect(() => patch(document, copy(20), 10 * bytes)).toThrow();
  });

  it('refuses to nest values deeper than an update could, in however few steps', () => {
    const path = (depth: number) => '/x'.repeat(depth);
    const doubled = (times: number) =>
      Array.from({ length: times }, (_, n) => {
        return { op: 'copy', from: '/x', path: path(2 ** n + 1) };
      });
    const tooDeep = { reason: 'patch_failed', allowed: 62 };
    const refused = expect.objectContaining({ details: expect.objectContaining(tooDeep) });
    expect(() => patch({ x: {} }, doubled(5), 1_000_000)).not.toThrow();
    expect(() => patch({ x: {} }, doubled(6), 1_000_000)).toThrow(refused);
    expect(() => patch({ x: {} }, doubled(16), 1_000_000)).toThrow(refused);
    const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
    const add = (depth: number) => [{ op: 'add', path: '/x', value: nested(depth) }];
    expect(() => patch({}, add(62))).not.toThrow();
    expect(() => patch({}, add(63))).toThrow(refused);
    const tested = [...doubled(16), { op: 'test', path: '/x', value: 1 }];
    expect(() => patch({ x: {} }, tested, 1_000_000)).toThrow(refused);
  });

  it('does not change one copy with the other, however they are changed', () => {
    const operations = [
      { op: 'add', path: '/a/list/-', value: 2 },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'copy', from: '/a', path: '/a/self' },
      { op: 'add', path: '/a/list/-', value: 3 },
      { op: 'replace', path: '/b/list/0', value: 'b' },
      { op: 'remove', path: '/a/self/list/1' },
      { op: 'move', from: '/b/deep', path: '/moved' },
      { op: 'add', path: '/moved/x', value: 1 },
    ];
    expect(patch({ a: { list: [1], deep: {} } }, operations)).toEqual({
      a: { list: [1, 2, 3], deep: {}, self: { list: [1], deep: {} } },
      b: { list: ['b', 2] },
      moved: { x: 1 },
    });
  });

  it('leaves the values of its own operations as they are, to be applied again', () => {
    const operations = jsonPatchSchema.parse([
      { op: 'add', path: '/a', value: { list: [] } },
      { op: 'add', path: '/a/list/-', value: 1 },
    ]);
    const twice = [1, 2].map(() => applyJsonPatch({}, operations, { copyBytes: 0 }));
    expect(twice).toEqual([{ a: { list: [1] } }, { a: { list: [1] } }]);
  });

  it('copies nothing of what it leaves alone', () => {
    const document = { big: { list: [1, 2, 3] }, small: {} };
    const after = patch(document, [{ op: 'add', path: '/small/x', value: 1 }]);
    expect(after).toEqual({ big: { list: [1, 2, 3] }, small: { x: 1 } });
    expect((after as typeof document).big).toBe(document.big);
  });

  it('tells the version and the value when a test fails', () => {
    const operations = jsonPatchSchema.parse([{ op: 'test', path: '/a', value: 1 }]);
    const details = { reason: 'test_failed', current_version: 7, current: 2 };
    expect(() => applyJsonPatch({ a: 2 }, operations, { version: 7, copyBytes: 0 })).toThrow(
      expect.objectContaining({ details: expect.objectContaining(details) }),
    );
  });
});

it.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'foo' }, null, null],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('merges %j with %j as RFC 7386 says', (target, change, expected) => {
  expect(mergePatch(target, change)).toEqual(expected);
});

it('writes equal values as one text, and different ones never', () => {
  expect(digestibleJson({ b: { y: 1, x: 2 }, a: [] })).toBe('{"a":[],"b":{"x":2,"y":1}}');
  expect(sameJson({ a: 1, b: [-0] }, { b: [0], a: 1 })).toBe(true);
  expect(sameJson('\ud800', '\ud801')).toBe(false);
});

it.each([
  [
    [1, 2],
    [1, 2, 3],
  ],
  [[1, 2], { 0: 1, 1: 2 }],
  [{ a: 1 }, { b: 1 }],
  [{ a: 1 }, { a: 1, b: null }],
  [{ toString: 1 }, {}],
  [null, {}],
  [1, '1'],
  [{ a: { b: [0, { c: 1 }] } }, { a: { b: [0, { c: 2 }] } }],
])('does not take %j for %j', (a, b) => {
  expect([sameJson(a, b), sameJson(b, a)]).toEqual([false, false]);
  expect(sameJson(a, structuredClone(a))).toBe(true);
});
