export { Database, type DatabaseOptions, type DatabaseSession } from './database.ts';
export { DatabaseClock } from './database-clock.ts';
export { Notifications, type NotificationsOptions } from './notifications.ts';
