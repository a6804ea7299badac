// spec/dotnet_ipc.ksy, compiled to JavaScript, behind the line protocol of diagipc/adapters/README.md. It reads, and does not write.
//
//     node diagipc/tests/kaitai/adapter.js DIRECTORY     with DotnetIpc.js, shapes.json and node_modules in it
//
// Every attribute is shown under the document's name, whatever it is: no field of a message is named below.
const fs = require('fs')
const path = require('path')
const directory = path.resolve(process.argv[2])
const there = require('module').createRequire(path.join(directory, 'here.js'))
const KaitaiStream = there('kaitai-struct/KaitaiStream')
const { DotnetIpc } = there('./DotnetIpc.js')
const shapes = JSON.parse(fs.readFileSync(path.join(directory, 'shapes.json'), 'utf8'))

// The code that is compiled says which attribute is wrong; the runtime for JavaScript does not keep it.
for (const [name, Kept] of Object.entries(KaitaiStream).filter(([name]) => name.startsWith('Validation'))) {
    KaitaiStream[name] = class extends Error {
        constructor(...parts) {
            super(new Kept(...parts).message)
            this.srcPath = parts[parts.length - 1]
        }
    }
}

const plain = name => name.toLowerCase().replace(/[^a-z0-9]/g, '')
const codes = Object.fromEntries(Object.entries(DotnetIpc.Command).filter(([key]) => Number.isNaN(Number(key))).map(([key, code]) => [plain(key), code]))
const camel = id => id.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
const pascal = id => camel('_' + id)
const types = Object.fromEntries(Object.keys(shapes).map(name => [pascal(name), name]))
const nameOf = part => types[part.constructor.name]
const hex = bytes => Buffer.from(bytes).toString('hex')
const digits = (number, count) => number.toString(16).padStart(count, '0')

class Refused extends Error {
    constructor(layer, value) {
        super(layer)
        this.layer = layer
        this.value = value
    }
}

function isWhole(units) {
    for (let i = 0; i < units.length; i++) {
        const kind = units[i] & 0xfc00
        if (kind === 0xdc00) return false
        if (kind === 0xd800 && ((units[++i] || 0) & 0xfc00) !== 0xdc00) return false
    }
    return true
}

// Text whose units are valid Unicode is what the reader decodes; otherwise the units. JavaScript's decoder takes U+FEFF off the front.
function text(units, decoded) {
    if (!isWhole(units)) return { utf16: Array.from(units) }
    let wanted = ''
    for (const unit of units) wanted += String.fromCharCode(unit)
    if (decoded !== wanted.replace(/^\uFEFF/, '')) throw new Error(`decoded as ${JSON.stringify(decoded)}, its units are ${JSON.stringify(wanted)}`)
    return wanted
}

// A part in the form of vectors/README.md.
function shown(part) {
    if (part instanceof Uint8Array) return hex(part)
    if (typeof part === 'number') return part
    const name = nameOf(part)
    if (name === 'flag') return part.value
    if (name === 'ulong') return String(BigInt(part.high) << 32n | BigInt(part.low))
    if (name === 'hresult') return '0x' + digits(part.code, 8).toUpperCase()
    if (name === 'guid') {
        const last = hex(part.data4)
        return [digits(part.data1, 8), digits(part.data2, 4), digits(part.data3, 4), last.slice(0, 4), last.slice(4)].join('-')
    }
    if (name === 'utf16_string') return part.count === 0 ? null : text(part.text.units, isWhole(part.text.units) ? part.text.value : '')
    if (name === 'byte_array') return hex(part.data)
    if (name.endsWith('_array')) return part.items.map(shown)
    if (name === 'environment_block') return part.entries.map(entry => variable(entry.text))
    const value = {}
    for (const [id, original] of shapes[name]) {
        const one = part[camel(id)]
        if (id === 'body') Object.assign(value, shown(one))
        else if (one !== undefined && id !== 'magic') value[original] = shown(one)
    }
    return value
}

function variable(entry) {
    const units = Array.from(entry.units)
    const end = entry.nameLength
    const [name, last] = [units.slice(0, end), units.slice(end + 1, entry.length)]
    const value = {
        name: text(name, isWhole(name) ? entry.name : ''),
        value: entry.hasValue ? text(last, isWhole(last) ? entry.value : '') : null,
    }
    return entry.isTerminated ? value : { ...value, terminated: false }
}

// Whether a part and what is in it are within the limits.
function isWithin(part) {
    if (Array.isArray(part)) return part.every(isWithin)
    if (!part || !nameOf(part)) return true
    const faults = Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter(name => name.startsWith('fault'))
    return !faults.some(name => part[name]) && shapes[nameOf(part)].every(([id]) => isWithin(part[camel(id)]))
}

function refuse(layer, value) {
    throw new Refused(layer, value)
}

const pieces = { 'array<byte>': 'byte_array', 'array<uint>': 'uint_array', clsid: 'guid', guid: 'guid', string: 'utf16_string' }
const isPiece = kind => kind in pieces || (kind in shapes && /_(config|set|filter)$/.test(kind))

function decode(kind, command, wire) {
    const stream = new KaitaiStream(wire)
    const code = codes[plain((command || '/').split('/')[1])] || 0
    if (kind === 'advertise' || kind === 'environment') {
        const value = shown(new (kind === 'advertise' ? DotnetIpc.Advertise : DotnetIpc.EnvironmentBlock)(stream))
        return stream.isEof() ? value : refuse('transport')
    }
    if (isPiece(kind)) return shown(new DotnetIpc[pascal(pieces[kind] || kind)](stream))
    let message
    if (kind === 'request' || kind === 'unknown') message = new DotnetIpc(stream).message
    else if (kind === 'legacy-request') message = new DotnetIpc.DraftRequest(stream)
    else message = new DotnetIpc.Reply(stream, undefined, undefined, code)
    if (!stream.isEof()) refuse('transport')
    const { header, payload } = message
    if (kind === 'unknown') {
        return payload instanceof Uint8Array ? { code: '0x' + digits(header.code, 4).toUpperCase(), payload: hex(payload) } : refuse('header')
    }
    if (kind === 'request' || kind === 'legacy-request') {
        if (header.code !== code) refuse('header')
    } else if ((header.command === DotnetIpc.Command.ERROR) !== (kind === 'error')) {
        refuse('reply')
    }
    const value = payload === undefined ? {} : shown(payload)
    return isWithin(payload) ? value : refuse('limits', value)
}

// Where the reader was when it failed.
function layerOf(kind, wire, error) {
    if (error.srcPath) {
        const layers = {
            '/types/header/seq/0': 'header', '/types/advertise/seq/0': 'header', '/types/header/seq/1': 'transport',
            '/types/reply/seq/1': 'reply', '/seq/1': 'transport',
        }
        return layers[error.srcPath] || 'payload'
    }
    if (kind === 'advertise') return 'transport'
    const isWhole = ['request', 'unknown', 'reply', 'error', 'legacy-request'].includes(kind)
    return isWhole && (wire.length < 20 || wire.readUInt16LE(14) > wire.length) ? 'transport' : 'payload'
}

function answer(question) {
    const kind = question.type
    const known = ['request', 'unknown', 'reply', 'error', 'legacy-request', 'advertise', 'environment'].includes(kind) || isPiece(kind)
    if (question.op !== 'decode' || !known) return { result: 'unsupported' }
    const wire = Buffer.from(question.wire, 'hex')
    const own = wire.buffer.slice(wire.byteOffset, wire.byteOffset + wire.length)
    try {
        return { result: 'ok', value: decode(kind, question.command, own) }
    } catch (error) {
        if (error instanceof Refused) return { result: 'error', layer: error.layer, value: error.value }
        if (error.srcPath || error instanceof KaitaiStream.EOFError) return { result: 'error', layer: layerOf(kind, wire, error) }
        throw error
    }
}

require('readline').createInterface({ input: process.stdin }).on('line', line => {
    const question = JSON.parse(line)
    process.stdout.write(JSON.stringify({ id: question.id, ...answer(question) }) + '\n')
})
