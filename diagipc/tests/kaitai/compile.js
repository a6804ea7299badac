// node compile.js KSY DIRECTORY [LANGUAGE…]: compiles it to Python and JavaScript, and writes which attributes each type has
// (shapes.json); to other languages as well, of which nothing is written.
const fs = require('fs')
const path = require('path')
const [, , source, directory, ...others] = process.argv
// What is required from there is found in the directory's own node_modules.
const there = require('module').createRequire(path.join(path.resolve(directory), 'here.js'))
const compiler = there('kaitai-struct-compiler')
const { load } = there('js-yaml')

async function main() {
    const ksy = load(fs.readFileSync(source, 'utf8'))
    for (const language of ['python', 'javascript']) {
        const files = await compiler.compile(language, ksy, null, false)
        for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(directory, name), text)
    }
    for (const language of others) await compiler.compile(language, ksy, null, false)
    const shapes = Object.entries(ksy.types).map(([name, { seq }]) => [name, seq.map(one => [one.id, one['-orig-id'] || one.id])])
    fs.writeFileSync(path.join(directory, 'shapes.json'), JSON.stringify(Object.fromEntries(shapes)))
}

main().catch(wrong => {
    console.error(wrong)
    process.exit(1)
})
