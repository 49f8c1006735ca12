import type { ITool } from '@starloom/sdk';
import { tool } from '../core/world.ts';

/** What people ask for, and the tool that does it. */
export const WANTED: readonly (readonly [question: string, name: string, description: string])[] = [
  ['What is the weather like in Taipei?', 'weather:current', 'Current weather of a city.'],
  ['Will it rain tomorrow?', 'weather:forecast', 'Weather forecast: rain, wind, temperature.'],
  ['Send an email to Ann', 'mail:send_message', 'Sends an email message to a recipient.'],
  ['Find the mails of last week', 'mail:search', 'Searches messages of the mailbox by date.'],
  ['Book a meeting with Bob on Monday', 'calendar:create_event', 'Creates a meeting or event.'],
  ['When am I free today?', 'calendar:free_slots', 'Lists free times of a day in the calendar.'],
  ['Translate this page into French', 'text:translate', 'Translates text to another language.'],
  ['Summarise the article', 'text:summarize', 'Summarises a long text or article.'],
  ['Convert 20 dollars to euros', 'money:convert_currency', 'Converts an amount of a currency.'],
  ['Share price of Siemens', 'money:stock_quote', 'Price of a share at the stock exchange.'],
  ['Transfer 50 euros to Carol', 'bank:transfer', 'Transfers money to another bank account.'],
  ['Restart the web server', 'ops:restart_service', 'Restarts a service on a server.'],
  ['Show the logs of the payment service', 'ops:read_logs', 'Reads log lines of a service.'],
  ['Deploy version 2 to production', 'ops:deploy', 'Deploys a version to an environment.'],
  ['Open a pull request for this branch', 'forge:create_pull_request', 'Opens a pull request.'],
  ['Which issues are assigned to me?', 'forge:list_issues', 'Lists issues by assignee, label.'],
  ['Run this SQL query', 'db:query', 'Runs an SQL query against the database.'],
  ['Back up the database', 'db:create_backup', 'Makes a backup copy of a database.'],
  ['Resize the picture to 200 pixels', 'image:resize', 'Changes the size of an image in pixels.'],
  ['Draw a picture of a cat', 'image:generate', 'Draws an image from a description.'],
  ['Transcribe the recording', 'audio:transcribe', 'Transcribes a recording of speech to text.'],
  ['Play some jazz', 'music:play', 'Plays music by title, artist or genre.'],
  ['Turn off the lights in the kitchen', 'home:set_light', 'Turns lights of a room on or off.'],
  ['Make it two degrees warmer', 'home:set_temperature', 'Sets the heating, in degrees.'],
  ['Find a flight from Berlin to Rome', 'travel:search_flights', 'Finds flights between cities.'],
  ['Reserve a hotel room for two nights', 'travel:book_hotel', 'Books a hotel room for nights.'],
  ['Directions to the airport', 'maps:directions', 'Route and directions to a place.'],
  ['Order a pizza', 'food:place_order', 'Orders food such as pizza from a restaurant.'],
  ['Track my parcel', 'post:track_parcel', 'Where a parcel is, by its tracking number.'],
  ['Create an invoice for Acme', 'billing:create_invoice', 'Creates an invoice for a customer.'],
];

const VERBS = ['list', 'get', 'update', 'delete', 'archive', 'merge', 'export', 'validate'];
const THINGS =
  'account asset batch campaign cluster contract dashboard dataset domain entity feature field folder gateway group image instance job label ledger license metric milestone namespace order partner policy pool profile project queue region report role rule schema segment shard snapshot stage tenant ticket topic vendor volume workflow workspace zone'.split(
    ' ',
  );
const SYSTEMS = 'atlas borealis cirrus delta ember fjord granite harbor indigo jasper'.split(' ');

/** The tools above among thousands of others. */
export function manyTools(): ITool[] {
  const others = SYSTEMS.flatMap((system) =>
    THINGS.flatMap((thing) =>
      VERBS.map((verb) =>
        tool(`${system}:${verb}_${thing}`, () => 'x', {
          description: `Lets you ${verb} a ${thing} of ${system} by its id.`,
        }),
      ),
    ),
  );
  const wanted = WANTED.map(([, name, description]) => tool(name, () => 'x', { description }));
  return [...others.slice(0, 2_000), ...wanted, ...others.slice(2_000)];
}
