import { render } from 'preact';
import { App } from './app.tsx';
import { startClock } from './state/format.ts';
import { watchAddress } from './state/router.ts';
import { startSession } from './state/session.ts';
import { applyTheme } from './state/theme.ts';
import { watchKeys } from './ui/keys.ts';

applyTheme();
watchAddress();
watchKeys();
startClock();
const place = document.getElementById('page');
if (place !== null) render(<App />, place);
await startSession();
