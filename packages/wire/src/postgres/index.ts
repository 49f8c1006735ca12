export { Database, type DatabaseOptions, type DatabaseSession } from './database.ts';
export { DatabaseClock, Notifications, type NotificationsOptions } from './notifications.ts';
