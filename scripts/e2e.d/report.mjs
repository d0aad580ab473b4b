// Owns the claims: runs each check, prints its line at once, counts. Knows nothing about what is checked.

const WHY_CHARS = 600;

export class Report {
  passed = 0;
  failed = 0;
  #subject = '';

  /** Names what the following claims are about; it stands before each claim's name. */
  about(subject) {
    this.#subject = subject;
  }

  /** Runs `check`; a claim holds when it returns without throwing. Returns whether it held. */
  async claim(name, check) {
    try {
      await check();
    } catch (error) {
      this.failed += 1;
      this.#print('FAIL', `${name}: ${oneLine(error)}`);
      return false;
    }
    this.passed += 1;
    this.#print('ok  ', name);
    return true;
  }

  /** Something worth seeing that is never judged. */
  info(text) {
    this.#print('info', text);
  }

  /** A block of somebody's output, set off so that it cannot be taken for a claim. */
  quote(title, text) {
    const lines = text.trim() === '' ? ['(empty)'] : text.trimEnd().split('\n');
    console.log(`     ${title}:`);
    for (const line of lines) console.log(`     | ${line}`);
  }

  summary() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
  }

  #print(mark, text) {
    console.log(`${mark} ${this.#subject ? `${this.#subject} ` : ''}${text}`);
  }
}

function oneLine(error) {
  let message = error instanceof Error ? error.message : String(error);
  // node puts the two values below a message that says it all
  if (error.generatedMessage === false) message = message.replace(/\n(\+ actual - expected|\n.* [!=]==? .*\n$)[^]*/, '');
  const text = message.trim().replace(/\s*\n\s*/g, ' | ');
  return text.length > WHY_CHARS ? `${text.slice(0, WHY_CHARS)}… (${text.length} characters)` : text;
}
