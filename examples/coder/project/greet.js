console.log('Hello!');
