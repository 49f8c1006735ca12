// What every job engine must do.

import type { JobEngine } from '@starloom/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asksAndAnswers } from './asks-and-answers.ts';
import { claimsAndLeases } from './claims-and-leases.ts';
import { createJobDriver, type JobDriver } from './job-driver.ts';
import { keepsRecords } from './keeps-records.ts';
import { recoversAndCancels } from './recovers-and-cancels.ts';

export interface JobEngineSubject {
  /** Empty at first. */
  readonly engine: JobEngine;
  /** Of the engine's time. */
  now(): number;
  /** Lets this much of the engine's time pass. */
  advance(ms: number): Promise<void>;
  /** Frees what the test made; the contract closes the engine itself. */
  close(): Promise<void>;
}

/** The subject and the driver of the test that runs. */
export interface JobContractContext {
  readonly engine: JobEngine;
  readonly driver: JobDriver;
  now(): number;
  advance(ms: number): Promise<void>;
}

export function jobEngineContract(name: string, open: () => Promise<JobEngineSubject>): void {
  describe(`job engine contract: ${name}`, () => {
    let subject: JobEngineSubject | undefined;
    const opened = () => subject ?? expect.fail('no engine');
    const context: JobContractContext = {
      get engine() {
        return opened().engine;
      },
      get driver() {
        return createJobDriver(opened().engine, () => opened().now());
      },
      now: () => opened().now(),
      advance: (ms) => opened().advance(ms),
    };
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(async () => {
      await subject?.engine.close();
      await subject?.close();
      subject = undefined;
    });
    keepsRecords(context);
    claimsAndLeases(context);
    asksAndAnswers(context);
    recoversAndCancels(context);
    it('answers a check', async () => {
      await context.engine.check();
    });
  });
}
