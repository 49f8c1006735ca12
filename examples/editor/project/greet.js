console.log('Hello, nobody!');
