// node's http client, which fails when a reply comes while it still sends.
// Usage: node clients.js PORT BODY_LIMIT. Prints "ok NAME" or "not ok NAME" for each.
'use strict';
const http = require('http');

const port = Number(process.argv[2]);
const limit = Number(process.argv[3]);
const ROUNDS = 30;

function post(body, headers, path) {
    return new Promise((resolve) => {
        const request = http.request({host: '127.0.0.1', port, path, method: 'POST', headers, agent: false});
        request.on('error', (error) => resolve(`error ${error.code}`));
        request.on('response', (reply) => {
            const parts = [];
            reply.on('data', (part) => parts.push(part));
            reply.on('error', (error) => resolve(`error ${error.code}`));
            reply.on('end', () => resolve(`${reply.statusCode} ${JSON.parse(Buffer.concat(parts)).code}`));
        });
        for (let at = 0; at < body.length; at += 65536) {
            request.write(body.subarray(at, at + 65536));
        }
        request.end();
    });
}

async function rounds(name, expected, body, headers, path = '/v1/palette') {
    const seen = [];
    for (let i = 0; i < ROUNDS; i++) {
        seen.push(await post(body, headers, path));
    }
    const good = seen.filter((one) => one === expected).length;
    const note = good === ROUNDS ? '' : ` (${good} of ${ROUNDS}; e.g. ${seen.find((one) => one !== expected)})`;
    console.log(`${good === ROUNDS ? 'ok' : 'not ok'} node: ${name}${note}`);
    return good === ROUNDS;
}

async function main() {
    const large = Buffer.alloc(8 * limit, ' ');
    const json = {'Content-Type': 'application/json'};
    const sized = {...json, 'Content-Length': large.length};
    const results = [
        await rounds('body over the limit', '413 payload-too-large', large, sized),
        await rounds('chunked body over the limit', '413 payload-too-large', large, json),
        await rounds('wrong type with a large body', '415 unsupported-media-type', large,
            {...sized, 'Content-Type': 'text/plain'}),
        await rounds('wrong path with a large body', '404 not-found', large, sized, '/nowhere'),
    ];
    process.exitCode = results.every(Boolean) ? 0 : 1;
}

main();
