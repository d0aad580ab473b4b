//! Commands that run other commands: where in their words those stand.

use super::code;
use super::options::{Grammar, Parsed, parse};
use super::words::{Word, is_expanded, is_single};
use super::{Input, Walk, base};

/// Variables whose value is a command that other programs run.
pub(super) const HOLDS_COMMAND: [&str; 60] = [
    "AR",
    "AS",
    "AWS_PAGER",
    "BAT_PAGER",
    "BROWSER",
    "CARGO_BUILD_RUSTC",
    "CC",
    "CCACHE_COMPILER",
    "CCACHE_PREFIX",
    "CPP",
    "CVS_RSH",
    "CXX",
    "DELTA_PAGER",
    "EDITOR",
    "F77",
    "FC",
    "FCEDIT",
    "FZF_DEFAULT_COMMAND",
    "GH_PAGER",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GREP",
    "HGEDITOR",
    "HGMERGE",
    "KUBE_EDITOR",
    "LD",
    "LESSCLOSE",
    "LESSOPEN",
    "LEX",
    "MANPAGER",
    "PAGER",
    "PIP_PYTHON",
    "PROMPT_COMMAND",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "RM",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "SHELL",
    "SSH_ASKPASS",
    "SSH_PKCS11_HELPER",
    "SSH_SK_HELPER",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "SVN_SSH",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "VISUAL",
    "YACC",
    "ZCAT",
];

/// Variables by which a name means another program, or a program does other things.
const CHANGES_COMMANDS: [&str; 97] = [
    "APT_CONFIG",
    "BASHOPTS",
    "BASH_ALIASES",
    "BASH_ARGV0",
    "BASH_CMDS",
    "BASH_COMPAT",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BAT_OPTS",
    "CDPATH",
    "COMPILER_PATH",
    "DOTNET_STARTUP_HOOKS",
    "ELIXIR_ERL_OPTIONS",
    "ENV",
    "ERL_AFLAGS",
    "ERL_FLAGS",
    "ERL_ZFLAGS",
    "EXECIGNORE",
    "EXINIT",
    "FZF_DEFAULT_OPTS",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GIT_ALLOW_PROTOCOL",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_TEMPLATE_DIR",
    "GNUMAKEFLAGS",
    "GOFLAGS",
    "GREP_OPTIONS",
    "GROFF_BIN_PATH",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESS",
    "LESSKEY",
    "LESSKEYIN",
    "LESSKEYIN_SYSTEM",
    "LESSKEY_CONTENT",
    "LUA_INIT",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANOPT",
    "MFLAGS",
    "MORE",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OLDPWD",
    "OPENSSL_CONF",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "POSIXLY_CORRECT",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PWD",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RIPGREP_CONFIG_PATH",
    "RUBYLIB",
    "RUBYOPT",
    "R_PROFILE",
    "SHELLOPTS",
    "SUDO_ASKPASS",
    "SYSTEM_WGETRC",
    "TAR_OPTIONS",
    "VIMINIT",
    "WGETRC",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "YARN_YARN_PATH",
    "ZDOTDIR",
    "ZIP",
    "ZIPOPT",
    "_JAVA_OPTIONS",
];

/// Whether a variable changes what other programs do.
pub(super) fn changes_commands(name: &str) -> bool {
    CHANGES_COMMANDS.contains(&name)
        || [
            "BASH_FUNC_",
            "CARGO_BUILD_RUSTC",
            "DYLD_",
            "GIT_CONFIG_KEY_",
            "GIT_CONFIG_VALUE_",
            "LD_",
            "LUA_INIT_",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || name.starts_with("CARGO_TARGET_")
            && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"))
        // Npm takes them in any case.
        || name.to_ascii_lowercase().starts_with("npm_config_")
}

/// Whether it makes a difference to commands what a variable is assigned.
pub(super) fn matters(name: &str) -> bool {
    name == "PATH" || HOLDS_COMMAND.contains(&name) || changes_commands(name)
}

/// Adds what a value means that a variable is assigned: a command, or other programs by the
/// names of known ones.
pub(super) fn assign(walk: &mut Walk<'_>, name: &str, value: Option<&str>, text: &str) {
    if name == "PATH" {
        // The names after it are what they are for a rule that denies. A rule that allows a
        // program does not allow whatever has its name elsewhere.
        walk.push(vec![Some("PATH=".to_owned())], text, 0, true);
    } else if HOLDS_COMMAND.contains(&name) {
        match value {
            Some("") => {}
            // It may change the list of what is run then.
            Some(command) if name == "GIT_SEQUENCE_EDITOR" && !matches!(command, ":" | "true") => {
                walk.unresolved(text);
            }
            Some(command) => run_with_more(walk, command, 0),
            None => walk.unresolved(text),
        }
    } else if changes_commands(name)
        || name.ends_with("FLAGS") && value.is_some_and(code::are_flags_with_program)
    {
        walk.unresolved(text);
    }
}

/// Adds a command that other programs run with further words behind it.
fn run_with_more(walk: &mut Walk<'_>, command: &str, at: usize) {
    // What `ssh` gets is a host, and what runs there.
    if command == "ssh" || command.starts_with("ssh ") {
        return walk.in_subshell(command, at);
    }
    walk.in_subshell(&format!("{command} \"$@\""), at);
}

/// Whether a program is known to run others, or to be a shell.
pub(super) fn is_known(name: &str) -> bool {
    wrapper_named(program(name)).is_some()
        || UNFOLLOWED.contains(&program(name))
        || SHELLS.contains(&name)
        || matches!(
            name,
            "fd" | "fdfind"
                | "find"
                | "flock"
                | "gdb"
                | "git"
                | "parallel"
                | "perf"
                | "runuser"
                | "script"
                | "ssh"
                | "su"
                | "watch"
        )
}

/// A command that runs its arguments, and how it takes them.
struct Wrapper {
    name: &'static str,
    grammar: Grammar,
}

const fn wrapper(name: &'static str, short: &'static str, long: &'static str) -> Wrapper {
    let grammar = Grammar::leading(short, long);
    Wrapper { name, grammar }
}

impl Wrapper {
    const fn with_operands(mut self, operands: usize) -> Self {
        self.grammar.operands = operands;
        self
    }

    const fn with_assignments(mut self) -> Self {
        self.grammar.assignments = true;
        self
    }
}

/// Where versions differ, all of their options: what one does not know, it refuses.
const WRAPPERS: [Wrapper; 28] = [
    wrapper(
        "env",
        "-iu:C:S:v0a:",
        "ignore-environment null unset= chdir= split-string= block-signal=? default-signal=? \
         ignore-signal=? list-signal-handling debug argv0=",
    )
    .with_assignments(),
    wrapper(
        "sudo",
        "Aa:BbC:c:D:Eeg:Hh:iKklNnPp:R:r:SsT:t:U:u:Vv",
        "askpass auth-type= background bell close-from= login-class= chdir= preserve-env=? \
         edit group= set-home host= login remove-timestamp reset-timestamp list no-update \
         non-interactive preserve-groups prompt= chroot= role= stdin shell type= \
         command-timeout= other-user= user= validate",
    )
    .with_assignments(),
    wrapper("doas", "a:C:Lnsu:", "").with_assignments(),
    wrapper("nohup", "", ""),
    wrapper("setsid", "Vhcfw", "ctty fork wait"),
    wrapper("nice", "#n:", "adjustment="),
    wrapper(
        "ionice",
        "c:n:p:P:u:tVh",
        "class= classdata= pid= pgid= uid= ignore",
    ),
    wrapper(
        "time",
        "af:o:pqvVhl",
        "append format= output= portability quiet verbose",
    ),
    wrapper(
        "timeout",
        "fk:ps:v",
        "foreground kill-after= preserve-status signal= verbose",
    )
    .with_operands(1),
    wrapper("stdbuf", "i:o:e:", "input= output= error="),
    wrapper("chroot", "G:g:nu:", "groups= userspec= skip-chdir").with_operands(1),
    wrapper("taskset", "achpV", "all-tasks cpu-list pid").with_operands(1),
    wrapper(
        "xargs",
        "0a:d:E:e::I:i::J:L:l::n:oP:pR:rS:s:tx",
        "null arg-file= delimiter= eof=? replace=? max-lines=? max-args= open-tty \
         no-run-if-empty max-chars= verbose show-limits exit max-procs= interactive \
         process-slot-var=",
    ),
    wrapper("command", "pvV", ""),
    wrapper("builtin", "", ""),
    wrapper("exec", "cla:", ""),
    wrapper("busybox", "", "list list-full install"),
    wrapper("toybox", "", "long"),
    wrapper(
        "strace",
        "a:Ab:cCdDe:E:fFhiI:knNo:O:p:P:qrs:S:tTu:U:vVwxX:yYzZ",
        "absolute-timestamps=? relative-timestamps=? syscall-times=? abbrev= verbose= raw= \
         trace= trace-fds= signal= status= trace-path= attach= columns= const-print-style= \
         daemonize=? debug decode-fds=? decode-pids= detach-on= env= failed-only fault= \
         follow-forks inject= instruction-pointer interruptible= kvm= no-abbrev output= \
         output-append-mode output-separately quiet=? silent=? read= write= seccomp-bpf \
         stack-traces=? string-limit= strings-in-hex=? successful-only summary \
         summary-columns= summary-only summary-sort-by= summary-syscall-overhead= \
         summary-wall-clock syscall-number tips=? user=",
    ),
    wrapper(
        "xvfb-run",
        "ae:f:hln:p:s:w:",
        "auto-servernum error-file= auth-file= listen-tcp server-num= xauth-protocol= \
         server-args= wait=",
    ),
    wrapper("valgrind", "dhqv", "*"),
    wrapper(
        "prlimit",
        "c::d::e::f::i::l::m::n::o:p:q::r::s::t::u::v::x::y::hV",
        "core=? data=? nice=? fsize=? sigpending=? memlock=? rss=? nofile=? msgqueue=? \
         rtprio=? stack=? cpu=? nproc=? as=? locks=? rttime=? pid= output= noheadings raw \
         verbose",
    ),
    wrapper("pkexec", "", "user= disable-internal-agent keep-cwd"),
    wrapper("eatmydata", "", ""),
    wrapper("unbuffer", "p", ""),
    wrapper("chronic", "ev", ""),
    wrapper("ifne", "n", ""),
    // With -s its first word is a line for a shell.
    wrapper("entr", "acdnprxz", ""),
];

/// Programs that run others and are rarely used: what they run is not followed. A line with one of
/// them is never known whole.
const UNFOLLOWED: [&str; 24] = [
    "bwrap",
    "caffeinate",
    "capsh",
    "catchsegv",
    "choom",
    "chrt",
    "dbus-run-session",
    "dumb-init",
    "fakeroot",
    "faketime",
    "firejail",
    "ld.so",
    "ltrace",
    "nsenter",
    "numactl",
    "proot",
    "proxychains4",
    "setarch",
    "setpriv",
    "systemd-inhibit",
    "systemd-run",
    "tini",
    "uclampset",
    "unshare",
];

/// Names under which `setarch` takes no architecture.
const ARCHITECTURES: [&str; 24] = [
    "alpha", "arm64", "armh", "armv7l", "armv8l", "athlon", "i386", "i486", "i586", "i686", "ia64",
    "linux32", "linux64", "mips", "mips32", "mips64", "ppc", "ppc32", "ppc64", "s390", "s390x",
    "sparc", "uname26", "x86_64",
];

const WATCH: Grammar = Grammar::leading(
    "bcCd::efghn:pq:rs:tvwx",
    "beep color no-color differences=? errexit follow chgexit equexit= exec interval= no-linewrap \
     no-rerun no-wrap no-title precise shotsdir=",
);

const FLOCK: Grammar = Grammar {
    operands: 1,
    ..Grammar::leading(
        "c:E:eFhnosuVw:x",
        "close command= conflict-exit-code= exclusive fcntl nb no-fork nonblock nonblocking shared \
         timeout= unlock verbose wait=",
    )
};

const SCRIPT: Grammar = Grammar::permuted(
    "aB:c:dE:eFfhI:km:o:O:pqrT:t::V",
    "append command= echo= flush force log-in= log-io= log-out= log-timing= logging-format= \
     output-limit= quiet return timing=?",
);

const SU: Grammar = Grammar::permuted(
    "c:fg:G:hlmpPs:Tu:Vw:",
    "command= fast group= login no-pty preserve-environment pty session-command= shell= \
     supp-group= user= whitelist-environment=",
);

const FISH: Grammar = Grammar::leading(
    "c:C:d:D:f:hilnNo:p:Pv",
    "command= debug= debug-output= debug-stack-frames= features= init-command= interactive login \
     no-config no-execute print-debug-categories print-rusage-self private profile= \
     profile-startup=",
);

const FD: Grammar = Grammar::permuted(
    "0ac:C:d:e:E:FghHiIj:lLo:pqsS:t:uVx:X:1",
    "absolute-path base-directory= batch-size= case-sensitive changed-before= changed-within= \
     color= exact-depth= exclude= exec= exec-batch= extension= fixed-strings follow format= \
     full-path glob hidden ignore-case ignore-file= list-details max-depth= max-results= \
     min-depth= newer= no-ignore no-ignore-vcs older= one-file-system owner= path-separator= \
     print0 prune quiet regex search-path= show-errors size= strip-cwd-prefix=? threads= type= \
     unrestricted",
);

const PARALLEL: Grammar = Grammar::leading(
    "0a:C:d:E:e::hI:i::J:j:kL:l::mN:n:P:pqrs:tuU:vXx",
    "arg-file= arg-sep= bar block= cat colsep= delay= delimiter= dry-run dryrun eta fifo group \
     halt= halt-on-error= jobs= joblog= keep-order lb line-buffer linebuffer load= max-args= \
     max-chars= max-procs= memfree= nice= no-notice no-run-if-empty null pipe progress quote \
     recend= recstart= results= resume resume-failed retries= shuf silent tag tagstring= \
     timeout= tmpdir= ungroup use-cpus-instead-of-cores verbose will-cite workdir= xargs",
);

const PERF_STAT: Grammar = Grammar::leading(
    "aABbC:D:de:G:I:iM:no:p:r:St:Tvx:",
    "all-cpus append big-num cpu= delay= detailed event= field-separator= filter= \
     interval-print= json-output metric-only metrics= no-aggr no-big-num no-inherit null output= \
     per-core per-die per-node per-socket per-thread pid= pre= post= quiet repeat= scale \
     no-scale table tid= timeout= topdown transaction verbose",
);

const PERF_RECORD: Grammar = Grammar::leading(
    "abBc:C:dD:e:F:gG:iI::j:k:m:nNo:p:PqRr:sS::t:Tu:vWz::",
    "all-cpus all-kernel all-user branch-any branch-filter= call-graph= cgroup= clockid= count= \
     cpu= data delay= event= exclude-perf filter= freq= mmap-pages= namespaces no-buffering \
     no-buildid no-buildid-cache no-inherit no-samples output= overwrite per-thread period pid= \
     quiet raw-samples realtime= stat strict-freq switch-events tid= timestamp uid= verbose",
);

const CLONE: Grammar = Grammar::permuted(
    "46b:c:j:lno:qsu:v",
    "also-filter-submodules bare branch= bundle-uri= config= depth= dissociate filter= ipv4 ipv6 \
     jobs= local mirror no-checkout no-hardlinks no-single-branch no-tags origin= progress quiet \
     recurse-submodules=? recursive=? ref-format= reference= reference-if-able= reject-shallow \
     remote-submodules revision= separate-git-dir= server-option= shallow-exclude= \
     shallow-since= shallow-submodules shared single-branch sparse tags template= \
     upload-pack= verbose",
);

const SSH: Grammar = Grammar {
    operands: 1,
    ..Grammar::leading(
        "1246AaB:b:CD:E:e:F:fGgI:i:J:KkL:l:Mm:NnO:o:P:p:Q:qR:S:sTtVvW:w:XxYy",
        "",
    )
};

/// Builtins of bash that run commands, or take names for other programs.
const MAPFILE: Grammar = Grammar::permuted("c:C:d:n:O:s:tu:", "");
const COMPLETE: Grammar = Grammar::permuted("A:abC:cDdEeF:fG:gIjko:P:prS:suvW:X:", "");

/// Options of many programs whose value is a command.
const RUN_BY_OPTION: [&str; 18] = [
    "--cc-cmd",
    "--checkpoint-action",
    "--compress-program",
    "--diff-program",
    "--header-cmd",
    "--open-files-in-pager",
    "--pager",
    "--post-invoke",
    "--pre-invoke",
    "--receive-pack",
    "--rsh",
    "--sendmail-cmd",
    "--smtp-server",
    "--strip-program",
    "--to-cmd",
    "--to-command",
    "--upload-pack",
    "--use-compress-program",
];

const SHELLS: [&str; 19] = [
    "bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "hush", "lksh", "oksh",
    "osh", "pdksh", "posh", "yash", "csh", "tcsh", "ksh93",
];

/// What stands for words that a command gets from its input.
const INPUT: &str = "<input>";

/// Adds a command and what it runs. `words` begin with its name.
pub(super) fn resolve(walk: &mut Walk<'_>, words: &[Word], text: &str, input: &Input, at: usize) {
    resolve_command(walk, words, text, input, at, false, 0);
}

fn resolve_command(
    walk: &mut Walk<'_>,
    words: &[Word],
    text: &str,
    input: &Input,
    at: usize,
    is_direct: bool,
    depth: usize,
) {
    let Some(first) = words.first() else { return };
    let values: Vec<Option<String>> = words.iter().map(|w| w.value.clone()).collect();
    let is_known = !is_expanded(&first.text) && !first.text.starts_with('~');
    let Some(name) = first.value.as_deref().filter(|_| is_known) else {
        walk.unresolved(&first.written);
        walk.push(values, &first.written, at, is_direct);
        return;
    };
    if depth > super::MAX_DEPTH {
        walk.unresolved(text);
        return;
    }
    // The end of a group that the parser did not see the beginning of.
    if first.text == "}" {
        return;
    }
    if let Some(command) = behind_keyword(name, words).filter(|_| !is_direct && !first.is_quoted) {
        let command = behind_assignments(walk, command);
        resolve_command(walk, command, text, input, at, is_direct, depth + 1);
        return;
    }
    walk.push(values, text, at, is_direct);
    let rest = &words[1..];
    if !walk.place.is_tree_only {
        super::builtins::resolve(walk, name, rest, text);
        code_and_carried(walk, name, rest, input, at, depth);
    }
    if rest.iter().any(|word| names_program(program(name), word)) {
        walk.unresolved(text);
    }
    let mut wrapped = |walk: &mut Walk<'_>, rest: &[Word], is_direct: bool| {
        let text = joined(rest);
        resolve_command(walk, rest, &text, input, at, is_direct, depth + 1);
    };
    match program(name) {
        shell if SHELLS.contains(&shell) => run_shell(walk, shell, rest, text, input, at),
        "eval" => run_text(walk, without_dashes(rest), at, true),
        "trap" => run_first(walk, rest, at, true),
        "source" | "." => run_script_or_input(walk, rest, text, input, at),
        "alias" if expands_aliases(walk) && rest.iter().any(|w| w.text.contains(['=', '$'])) => {
            walk.unresolved(text);
        }
        "watch" => {
            let parsed = take_apart(walk, rest, &WATCH, text);
            if parsed.has(&["x", "exec"]) {
                wrapped(walk, parsed.rest, true);
            } else {
                run_text(walk, parsed.rest, at, false);
            }
        }
        "su" | "runuser" => run_as_user(walk, rest, text, input, at, &mut wrapped),
        "script" => resolve_script(walk, rest, text, input, at, &mut wrapped),
        "flock" => resolve_flock(walk, rest, text, at, &mut wrapped),
        "perf" => resolve_perf(walk, rest, text, &mut wrapped),
        "gdb" => resolve_gdb(walk, rest, text, &mut wrapped),
        "find" => resolve_find(walk, rest, text, &mut wrapped),
        "fd" | "fdfind" => resolve_fd(walk, rest, text, &mut wrapped),
        "parallel" => run_parallel(walk, rest, text, at),
        "git" => git(walk, rest, text, at, &mut wrapped),
        "ssh" if is_remote_or_proxied(rest, input) => walk.unresolved(text),
        "mapfile" | "readarray" => {
            let parsed = take_apart(walk, rest, &MAPFILE, text);
            run_ours(walk, &parsed, &["C"], at);
        }
        "compgen" | "complete" => {
            let parsed = take_apart(walk, rest, &COMPLETE, text);
            run_ours(walk, &parsed, &["C", "F"], at);
        }
        "unset" => walk.analysis.forgets_functions = true,
        name if UNFOLLOWED.contains(&name) && !asks_for_help(rest) => walk.unresolved(text),
        name => {
            run_wrapped(walk, wrapper_named(name), rest, text, at, &mut wrapped);
        }
    }
}

/// Whether a word is an option whose value is a command. Some programs take the beginnings of
/// names, too.
fn names_program(program: &str, word: &Word) -> bool {
    let known = word.if_empty.as_str();
    let name = known.split_once('=').map_or(known, |(name, _)| name);
    let shortened: &[&str] = match program {
        "diff3" | "sdiff" => &["--diff-program"],
        "git" => &[
            "--extcmd",
            "--open-files-in-pager",
            "--receive-pack",
            "--upload-pack",
        ],
        "install" => &["--strip-program"],
        "sort" => &["--compress-program"],
        "tar" => &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
        ],
        _ => &[],
    };
    RUN_BY_OPTION.contains(&name)
        || name.len() > 2 && shortened.iter().any(|option| option.starts_with(name))
}

/// Notes that the command just added is given code, and adds the commands that it is there to run.
fn code_and_carried(
    walk: &mut Walk<'_>,
    name: &str,
    rest: &[Word],
    input: &Input,
    at: usize,
    depth: usize,
) {
    let name = program(name);
    let reads_text = input.text.is_some() || input.is_other;
    if code::runs_code(name, rest, reads_text)
        && let Some(command) = walk.analysis.commands.last_mut()
    {
        command.runs_code = true;
    }
    let own = walk.analysis.commands.len().saturating_sub(1);
    for (i, start) in code::carried(name, rest).into_iter().enumerate() {
        let known = (walk.analysis.commands.len(), walk.analysis.unresolved.len());
        let words = &rest[start..];
        resolve_command(walk, words, &joined(words), input, at, true, depth + 1);
        for command in walk.analysis.commands.iter_mut().skip(known.0) {
            command.is_carried = true;
        }
        // What it runs then is the affair of who allows it, like code.
        if walk.analysis.unresolved.len() > known.1 {
            walk.analysis.unresolved.truncate(known.1);
            // Words further on may be its arguments.
            walk.analysis.commands[own].runs_code |= i == 0;
        }
    }
}

/// Whether a program only tells how it is used.
fn asks_for_help(rest: &[Word]) -> bool {
    let is_help =
        |word: &Word| matches!(word.value.as_deref(), Some("--help" | "--version" | "-V"));
    !rest.is_empty() && rest.iter().all(is_help)
}

fn wrapper_named(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|w| w.name == name)
}

/// The name by which a program is known here.
fn program(name: &str) -> &str {
    let name = base(name);
    match name {
        // The GNU programs where the system has others.
        "genv" | "gnice" | "gnohup" | "gtimeout" | "gstdbuf" | "gchroot" | "gxargs" | "gfind"
        | "gtime" => &name[1..],
        loader if loader.starts_with("ld-linux") || loader.starts_with("ld-musl-") => "ld.so",
        architecture if ARCHITECTURES.contains(&architecture) => "setarch",
        name => shell_named(name).unwrap_or(name),
    }
}

/// The shell of a name that may have a version, or say that it is restricted.
fn shell_named(name: &str) -> Option<&str> {
    let name = name.strip_suffix("-static").unwrap_or(name);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let of_all = |name: &&str| SHELLS.contains(name);
    Some(name)
        .filter(of_all)
        .or_else(|| name.strip_prefix('r').filter(of_all))
}

/// The command behind a word of the grammar that the parser takes for a command.
fn behind_keyword<'w>(name: &str, words: &'w [Word]) -> Option<&'w [Word]> {
    let rest = words.get(1..).filter(|rest| !rest.is_empty())?;
    match name {
        "time" => {
            let is_flag = |w: &&Word| matches!(w.text.as_str(), "-p" | "--");
            let rest = &rest[rest.iter().take_while(is_flag).count()..];
            // With other options it is the program.
            let first = rest.first()?;
            (!first.text.starts_with('-')).then_some(rest)
        }
        "coproc" | "!" => {
            let brace = rest.iter().position(|w| w.text == "{");
            Some(&rest[brace.map_or(0, |brace| brace + 1)..])
        }
        _ => None,
    }
}

/// The command behind assignments, which the parser takes for words after a keyword.
fn behind_assignments<'w>(walk: &mut Walk<'_>, words: &'w [Word]) -> &'w [Word] {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        let Some(name) = assigned(&first.text) else {
            break;
        };
        if HOLDS_COMMAND.contains(&name) || changes_commands(name) {
            walk.unresolved(&first.text);
        }
        words = rest;
    }
    words
}

/// The variable to which a word of the source assigns.
fn assigned(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some(name)
}

/// Whether names may stand for others by `alias`.
fn expands_aliases(walk: &Walk<'_>) -> bool {
    // Shells other than bash do so in scripts too.
    walk.place.is_other_shell
        || ["expand_aliases", "posix"]
            .iter()
            .any(|s| walk.source.contains(s))
}

/// Takes words apart, and says where that is not sure.
fn take_apart<'w>(
    walk: &mut Walk<'_>,
    rest: &'w [Word],
    grammar: &Grammar,
    text: &str,
) -> Parsed<'w> {
    let parsed = parse(rest, grammar);
    if parsed.is_unsure {
        walk.unresolved(text);
    }
    parsed
}

/// What an option's values are: scripts for another shell.
fn run_scripts(walk: &mut Walk<'_>, parsed: &Parsed<'_>, names: &[&str], at: usize) {
    for script in parsed.values(names) {
        run_first(walk, std::slice::from_ref(script), at, false);
    }
}

/// What an option's values are: scripts for this shell.
fn run_ours(walk: &mut Walk<'_>, parsed: &Parsed<'_>, names: &[&str], at: usize) {
    for script in parsed.values(names) {
        run_first(walk, std::slice::from_ref(script), at, true);
    }
}

/// `su` and `runuser`: a script, a shell of the caller's choice, or arguments for a shell.
fn run_as_user(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    input: &Input,
    at: usize,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let parsed = take_apart(walk, rest, &SU, text);
    let scripts = ["c", "command", "session-command"];
    run_scripts(walk, &parsed, &scripts, at);
    for shell in parsed.values(&["s", "shell"]) {
        let is_shell = |value: &str| SHELLS.contains(&base(value));
        if !shell.value.as_deref().is_some_and(is_shell) {
            wrapped(walk, std::slice::from_ref(shell), true);
        }
    }
    if parsed.has(&["u", "user"]) {
        if let Some(first) = parsed.operands.first() {
            wrapped(walk, &rest[*first..], true);
        }
        return;
    }
    if parsed.has(&scripts) {
        return;
    }
    let words = parsed.operands.iter().map(|i| &rest[*i]);
    let is_login = |w: &&Word| w.value.as_deref() == Some("-");
    let arguments: Vec<Word> = words.skip_while(is_login).skip(1).cloned().collect();
    run_shell(walk, "sh", &arguments, text, input, at);
}

/// `script`: by `-c` on Linux, by the words behind the file elsewhere, by those behind `--` in
/// newer versions.
fn resolve_script(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    input: &Input,
    at: usize,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let parsed = take_apart(walk, rest, &SCRIPT, text);
    run_scripts(walk, &parsed, &["c", "command"], at);
    // What it reads goes to what it runs: a shell, where no command is given.
    if input.text.is_some() || input.is_other {
        walk.unresolved(text);
    }
    if let Some(second) = parsed.operands.get(1) {
        // Elsewhere `-t` takes the next word.
        if parsed.has(&["t"]) {
            walk.unresolved(text);
        }
        wrapped(walk, &rest[*second..], true);
    }
    if let Some(after) = parsed
        .after_dashes
        .filter(|after| parsed.operands.first() == Some(after))
    {
        wrapped(walk, &rest[after..], true);
    }
}

fn resolve_flock(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    at: usize,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let parsed = take_apart(walk, rest, &FLOCK, text);
    run_scripts(walk, &parsed, &["c", "command"], at);
    match parsed.rest {
        [flag, script @ ..] if matches!(flag.value.as_deref(), Some("-c" | "--command")) => {
            run_first(walk, script, at, false);
        }
        words => wrapped(walk, words, true),
    }
}

/// `perf stat` and `perf record`, also behind another word of `perf`.
fn resolve_perf(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let grammar = |word: &Word| match word.value.as_deref() {
        Some("stat") => Some(&PERF_STAT),
        Some("record") => Some(&PERF_RECORD),
        _ => None,
    };
    let Some(first) = rest.iter().position(|w| grammar(w).is_some()) else {
        let runs = |w: &Word| matches!(w.value.as_deref(), Some("trace" | "ftrace" | "iostat"));
        if rest.iter().any(runs) {
            walk.unresolved(text);
        }
        return;
    };
    let mut words = &rest[first..];
    while let Some((word, behind)) = words.split_first() {
        let Some(grammar) = grammar(word) else {
            return wrapped(walk, words, true);
        };
        words = take_apart(walk, behind, grammar, text).rest;
    }
}

fn resolve_gdb(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let is_args = |w: &Word| matches!(w.value.as_deref(), Some("--args" | "-args"));
    if let Some(flag) = rest.iter().position(is_args) {
        let behind = &rest[flag + 1..];
        let options = behind
            .iter()
            .take_while(|w| w.known.starts_with('-'))
            .count();
        if options > 0 {
            walk.unresolved(text);
        }
        wrapped(walk, &behind[options..], true);
    }
}

/// Whether a program runs a text that is among its words, so that what is put into the text
/// becomes a part of a script. Of programs that start others that may be said too.
fn runs_scripts(first: &Word) -> bool {
    first.value.as_deref().is_none_or(|name| {
        let name = program(name);
        is_known(name) || name == "eval" || code::runs_code(name, &[], true)
    })
}

/// A name in the place of which the files stand that were found.
fn with_files(words: &[Word]) -> Vec<Word> {
    let is_started = words.first().is_some_and(runs_scripts);
    let with_file = |word: &Word| {
        let is_file = |value: &String| value == "{}" || is_started && value.contains("{}");
        Word {
            value: word.value.clone().filter(|value| !is_file(value)),
            ..word.clone()
        }
    };
    words.iter().map(with_file).collect()
}

/// Whether a word that is not known may be `-exec` with a command behind it. One word in quotes
/// does no harm before an option or at the end: what follows it is not a command then.
fn may_hide_actions(rest: &[Word]) -> bool {
    rest.iter().enumerate().any(|(i, word)| {
        let next = rest.get(i + 1).and_then(|word| word.value.as_deref());
        if word.value.is_none() {
            let is_last = i + 1 == rest.len();
            return !(is_single(word)
                && (is_last || next.is_some_and(|next| next.starts_with('-'))));
        }
        let begins_freely = word.text.starts_with(['*', '?', '[', '{']) && word.text != "{}";
        let is_free = begins_freely && !word.text.contains(['.', '/']);
        is_expanded(&word.text) && (is_free || word.text.starts_with('-'))
    })
}

/// What `find` runs for the files that it finds.
fn resolve_find(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    if !walk.place.is_tree_only && may_hide_actions(rest) {
        walk.unresolved(text);
    }
    let is = |i: usize, value: &str| {
        rest.get(i)
            .is_some_and(|w| w.value.as_deref() == Some(value))
    };
    for i in 0..rest.len() {
        if ["-exec", "-execdir", "-ok", "-okdir"]
            .iter()
            .any(|name| is(i, name))
        {
            // A plus elsewhere is an argument like others.
            let ends = |end: &usize| is(*end, ";") || (is(*end, "+") && is(end - 1, "{}"));
            let end = (i + 1..rest.len()).find(ends).unwrap_or(rest.len());
            wrapped(walk, &with_files(&rest[i + 1..end]), true);
        }
    }
}

fn resolve_fd(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let mut rest = rest;
    loop {
        let parsed = parse(rest, &FD);
        let is_start = |name: &str| matches!(name, "x" | "X" | "exec" | "exec-batch");
        let Some(start) = parsed.options.iter().find(|o| is_start(o.name)) else {
            if parsed.is_unsure {
                walk.unresolved(text);
            }
            return;
        };
        let mut command: Vec<Word> = start.value.iter().cloned().collect();
        let behind = rest.get(start.next..).unwrap_or_default();
        let ends = |w: &Word| w.value.as_deref() == Some(";");
        let end = behind.iter().position(ends).unwrap_or(behind.len());
        command.extend_from_slice(&behind[..end]);
        wrapped(walk, &with_files(&command), true);
        rest = &behind[end..];
    }
}

/// `parallel`: its words make a line for a shell, with words of the input.
fn run_parallel(walk: &mut Walk<'_>, rest: &[Word], text: &str, at: usize) {
    let parsed = take_apart(walk, rest, &PARALLEL, text);
    let is_source = |w: &Word| w.known.starts_with(":::");
    let end = parsed.rest.iter().position(is_source);
    let command = &parsed.rest[..end.unwrap_or(parsed.rest.len())];
    let values: Option<Vec<&str>> = command.iter().map(|w| w.value.as_deref()).collect();
    match values.map(|values| values.join(" ")) {
        // Another string than braces may stand for words of the input.
        Some(line) if !line.is_empty() && !parsed.has(&["I", "i"]) => {
            let input = if line.contains('{') { "" } else { " \"$1\"" };
            walk.in_subshell(&format!("{line}{input}"), at);
        }
        _ => walk.unresolved(text),
    }
}

/// Whether `ssh` runs a command there, or one here to get there.
fn is_remote_or_proxied(rest: &[Word], input: &Input) -> bool {
    let parsed = parse(rest, &SSH);
    let here = ["proxycommand", "localcommand", "knownhostscommand"];
    let runs_here = |w: &Word| {
        let text = w.value.as_ref().unwrap_or(&w.text).to_lowercase();
        here.iter().any(|name| text.contains(name))
    };
    !parsed.rest.is_empty()
        || parsed.is_unsure
        || input.text.is_some()
        || rest.iter().any(runs_here)
}

/// A command with the words that `xargs` takes from its input.
fn with_input(parsed: &Parsed<'_>) -> Vec<Word> {
    let mut words = parsed.rest.to_vec();
    let marks = ["I", "i", "J", "replace"];
    if parsed.has(&marks) {
        let mark = parsed.values(&marks).last();
        let mark = mark.and_then(|w| w.value.as_deref()).unwrap_or("{}");
        let is_started = words.first().is_some_and(runs_scripts);
        for (i, word) in words.iter_mut().enumerate() {
            // In a name, and in a script, which would be another one with it.
            let is_input = |v: &String| v == mark || v.contains(mark) && (i == 0 || is_started);
            word.value = word.value.take().filter(|value| !is_input(value));
        }
    } else if !words.is_empty() {
        words.push(Word {
            value: None,
            known: String::new(),
            if_empty: String::new(),
            text: INPUT.to_owned(),
            written: INPUT.to_owned(),
            is_quoted: false,
            is_number: false,
            is_single: None,
        });
    }
    words
}

fn run_wrapped(
    walk: &mut Walk<'_>,
    wrapper: Option<&Wrapper>,
    rest: &[Word],
    text: &str,
    at: usize,
    run: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let Some(wrapper) = wrapper else { return };
    let parsed = take_apart(walk, rest, &wrapper.grammar, text);
    for assignment in &parsed.assignments {
        let name = assignment.known.split('=').next().unwrap_or_default();
        if name == "PATH" {
            assign(walk, name, None, &assignment.text);
        }
        if HOLDS_COMMAND.contains(&name) || changes_commands(name) {
            walk.unresolved(&assignment.text);
        }
    }
    let writes_to_program = |w: &Word| {
        w.value
            .as_deref()
            .is_some_and(|v| v.starts_with(['|', '!']))
    };
    match (wrapper.name, parsed.rest) {
        ("env", _) if parsed.has(&["S", "split-string"]) => split_string(walk, rest, &parsed, at),
        ("xargs", _) => run(walk, &with_input(&parsed), true),
        // These only say where a command is, or change processes that run already.
        ("command", _) if parsed.has(&["v", "V"]) => {}
        ("taskset" | "chrt", _) if parsed.has(&["p", "pid"]) => {}
        // Newer versions do without a priority.
        ("chrt", words) => {
            let priority = parsed.operands.first().map(|i| &rest[*i]);
            let is_number = |w: &Word| w.known.starts_with(|c: char| c.is_ascii_digit());
            let start = parsed
                .operands
                .first()
                .filter(|_| !priority.is_some_and(is_number));
            run(walk, start.map_or(words, |start| &rest[*start..]), true);
        }
        ("sudo" | "doas", []) if parsed.has(&["s", "i", "shell", "login"]) => walk.unresolved(text),
        // These run a shell of their own.
        ("unshare" | "nsenter" | "chroot" | "fakeroot" | "firejail" | "proot" | "linux64", [])
            if !parsed.has(&["help", "version", "h", "V", "list"]) =>
        {
            walk.unresolved(text);
        }
        ("strace", words) => {
            if parsed.values(&["o", "output"]).any(writes_to_program) {
                walk.unresolved(text);
            }
            run(walk, words, true);
        }
        (_, []) => {}
        (_, words) => run(walk, words, true),
    }
}

fn joined(words: &[Word]) -> String {
    let texts: Vec<_> = words
        .iter()
        .map(|w| w.written.as_str())
        .filter(|text| *text != INPUT)
        .collect();
    texts.join(" ")
}

fn without_dashes(words: &[Word]) -> &[Word] {
    match words {
        [dashes, rest @ ..] if dashes.value.as_deref() == Some("--") => rest,
        words => words,
    }
}

/// The words as one script, as `eval` joins them, for this shell or for another.
fn run_text(walk: &mut Walk<'_>, words: &[Word], at: usize, is_ours: bool) {
    let values: Option<Vec<&str>> = words.iter().map(|w| w.value.as_deref()).collect();
    match values.map(|values| values.join(" ")) {
        Some(script) if is_ours => walk.inner(&script, at),
        Some(script) => walk.in_subshell(&script, at),
        None => walk.unresolved(&joined(words)),
    }
}

/// The first word as a script, for this shell or for another.
fn run_first(walk: &mut Walk<'_>, words: &[Word], at: usize, is_ours: bool) {
    let first = words.iter().find(|w| w.value.as_deref() != Some("--"));
    match first.map(|w| (w, w.value.as_deref())) {
        None | Some((_, Some("" | "-" | "-l" | "-p"))) => {}
        Some((_, Some(script))) if is_ours => walk.inner(script, at),
        Some((_, Some(script))) => walk.in_subshell(script, at),
        Some((word, None)) => walk.unresolved(&word.written),
    }
}

/// Long options of bash, which may have one dash.
const OF_BASH: [&str; 16] = [
    "debug",
    "debugger",
    "dump-po-strings",
    "dump-strings",
    "help",
    "init-file",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "pretty-print",
    "protected",
    "rcfile",
    "restricted",
    "verbose",
];

fn run_shell(
    walk: &mut Walk<'_>,
    shell: &str,
    rest: &[Word],
    text: &str,
    input: &Input,
    at: usize,
) {
    if shell == "fish" {
        let parsed = take_apart(walk, rest, &FISH, text);
        let scripts = ["c", "command", "C", "init-command"];
        run_scripts(walk, &parsed, &scripts, at);
        if parsed.has(&scripts) {
            walk.unresolved(text);
        } else {
            run_script_or_input(walk, parsed.rest, text, input, at);
        }
        return;
    }
    let Some(dialect) = super::meaning::dialect_of(shell) else {
        // A script in an option is shown where its words are common to shells.
        let is_file = |word: &Word| !word.known.is_empty() && !word.known.starts_with(['-', '+']);
        match rest {
            [only] if matches!(only.value.as_deref(), Some("--help" | "--version")) => {}
            [file, ..] if is_file(file) => run_script_or_input(walk, rest, text, input, at),
            _ => {
                run_arguments(walk, rest, text, input, at, false);
                run_arguments(walk, rest, text, input, at, true);
                walk.unresolved(text);
            }
        }
        return;
    };
    let before = std::mem::replace(&mut walk.shell, dialect);
    run_arguments(walk, rest, text, input, at, false);
    let has_setting = |w: &Word| w.known.starts_with(['-', '+']) && w.known.contains(['o', 'O']);
    if rest.iter().any(has_setting) {
        run_arguments(walk, rest, text, input, at, true);
    }
    walk.shell = before;
}

/// What a shell does with its arguments. The name of a setting is `attached` to its letter in
/// some shells, in others it is the next word.
fn run_arguments(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    input: &Input,
    at: usize,
    attached: bool,
) {
    let mut words = rest;
    let mut takes_line = false;
    let mut reads_input = false;
    let mut has_letters = false;
    while let Some(word) = words.first() {
        let Some(value) = word.value.as_deref() else {
            break;
        };
        // A list in braces may hold the script too.
        if word.text.starts_with('{') && is_expanded(&word.text) {
            walk.unresolved(text);
        }
        let is_long = value.starts_with("--")
            || (!has_letters && OF_BASH.contains(&value.trim_start_matches('-')));
        words = match value {
            "-" | "--" => {
                words = &words[1..];
                break;
            }
            long if is_long && long.starts_with('-') => {
                let takes_file = long.ends_with("rcfile") || long.ends_with("init-file");
                if takes_file {
                    walk.unresolved(text);
                }
                let taken = usize::from(takes_file || long == "--emulate");
                words.get(1 + taken..).unwrap_or_default()
            }
            flags if flags.starts_with(['-', '+']) => {
                has_letters = true;
                let letters = &flags[1..];
                let (own, name) = match letters.split_once(['o', 'O']) {
                    Some((own, name)) if attached => (own, Some(name)),
                    _ => (letters, None),
                };
                takes_line |= flags.starts_with('-') && own.contains('c');
                reads_input |= own.contains('s');
                let taken = match name {
                    Some(name) => usize::from(name.is_empty()),
                    None => letters.matches(['o', 'O']).count(),
                };
                words.get(1 + taken..).unwrap_or_default()
            }
            _ => break,
        };
    }
    if takes_line {
        run_first(walk, words, at, false);
    } else if reads_input {
        run_script_or_input(walk, &[], text, input, at);
    } else {
        run_script_or_input(walk, words, text, input, at);
    }
}

/// A shell's script: a file, or what it reads.
fn run_script_or_input(walk: &mut Walk<'_>, words: &[Word], text: &str, input: &Input, at: usize) {
    match words.first().map(|w| (w.value.as_deref(), &w.text)) {
        None | Some((Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"), _)) => {}
        Some((Some(file), text_of_file)) if !code::is_input(file) && !is_expanded(text_of_file) => {
            return run_script(walk, words, text, at);
        }
        // A script by a name that can't be known, or one that is made on the way.
        Some(_) => return walk.unresolved(text),
    }
    match &input.text {
        // One line is read whole before any of it runs. Of more, a command could read a part, and
        // another input could take the place of this one.
        Some(script)
            if !input.is_other && !script.contains(['\n', '<']) && !script.contains("exec") =>
        {
            walk.in_subshell(script, at);
        }
        // What it reads then, the commands around it say.
        _ => walk.unresolved(text),
    }
}

/// A file of commands is looked for in `PATH` too: a rule that denies a program denies it.
fn run_script(walk: &mut Walk<'_>, words: &[Word], text: &str, at: usize) {
    let values = words.iter().map(|word| word.value.clone()).collect();
    walk.push(values, text, at, true);
    if let Some(command) = walk.analysis.commands.last_mut() {
        command.is_carried = true;
    }
}

/// `env -S`: the value is split into words and goes on with the rest.
fn split_string(walk: &mut Walk<'_>, rest: &[Word], parsed: &Parsed<'_>, at: usize) {
    let is_split = |name: &str| matches!(name, "S" | "split-string");
    let Some(split) = parsed.options.iter().find(|o| is_split(o.name)) else {
        return;
    };
    let value = split.value.as_ref().and_then(|w| w.value.as_deref());
    // Its escapes are others than a shell's.
    let Some(value) = value.filter(|value| !value.contains('\\')) else {
        return walk.unresolved(&joined(rest));
    };
    let mut script = format!("env {value}");
    for word in rest.get(split.next..).unwrap_or_default() {
        match &word.value {
            Some(value) => {
                script.push_str(" '");
                script.push_str(&value.replace('\'', r"'\''"));
                script.push('\'');
            }
            None => script.push_str(" $1"),
        }
    }
    walk.in_subshell(&script, at);
}

/// The command that follows `-x` or `--exec` of `git rebase`, however they are written.
fn exec_of_rebase(walk: &mut Walk<'_>, rest: &[Word], at: usize) {
    // Behind a letter that takes a value, the rest is that value.
    const TAKE: [char; 4] = ['C', 'S', 'X', 's'];
    for (i, word) in rest.iter().enumerate() {
        if !word.if_empty.starts_with('-') {
            continue;
        }
        let Some(value) = word.value.as_deref() else {
            walk.unresolved(&word.written);
            continue;
        };
        let attached = match value.strip_prefix("--") {
            Some(long) => {
                let (name, attached) = match long.split_once('=') {
                    Some((name, script)) => (name, Some(script)),
                    None => (long, None),
                };
                (name.len() > 1 && "exec".starts_with(name)).then_some(attached)
            }
            None => value[1..].split_once('x').and_then(|(flags, script)| {
                let script = Some(script).filter(|s| !s.is_empty());
                (!flags.contains(TAKE)).then_some(script)
            }),
        };
        match attached {
            Some(Some(script)) => walk.in_subshell(script, at),
            Some(None) => run_first(walk, &rest[i + 1..], at, false),
            None => {}
        }
    }
}

/// Whether a word of `git grep` is `-O`, also behind other letters.
fn opens_pager(word: &Word) -> bool {
    // Behind a letter that takes a value, the rest is that value.
    const TAKE: [char; 6] = ['A', 'B', 'C', 'e', 'f', 'm'];
    let letters = word
        .if_empty
        .strip_prefix('-')
        .filter(|t| !t.starts_with('-'));
    letters
        .and_then(|letters| letters.split_once('O'))
        .is_some_and(|(flags, _)| !flags.contains(TAKE))
}

fn git(
    walk: &mut Walk<'_>,
    rest: &[Word],
    text: &str,
    at: usize,
    wrapped: &mut impl FnMut(&mut Walk<'_>, &[Word], bool),
) {
    let mut i = 0;
    while let Some(word) = rest.get(i) {
        let Some(value) = word.value.as_deref() else {
            walk.unresolved(text);
            break;
        };
        match value {
            "-c" => {
                match rest.get(i + 1).and_then(|w| w.value.as_deref()) {
                    Some(setting) => git_setting(walk, setting, text, at),
                    None => walk.unresolved(text),
                }
                i += 1;
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix"
            | "--attr-source" => i += 1,
            // A setting whose value an environment variable holds.
            _ if value.starts_with("--exec-path=") || value.starts_with("--config-env") => {
                walk.unresolved(text);
            }
            _ if value.starts_with('-') => {}
            _ => break,
        }
        i += 1;
    }
    let rest = rest.get(i..).unwrap_or_default();
    let word = |i: usize| {
        rest.get(i)
            .and_then(|w| w.value.as_deref())
            .unwrap_or_default()
    };
    let is_unknown = |w: &Word| w.value.is_none();
    match (word(0), word(1)) {
        ("bisect" | "submodule", _) if rest.get(1).is_some_and(is_unknown) => walk.unresolved(text),
        ("submodule", _) => {
            let is_foreach = |w: &Word| w.value.as_deref() == Some("foreach");
            if let Some(i) = rest.iter().position(is_foreach) {
                let grammar = Grammar::leading("q", "recursive quiet");
                let parsed = take_apart(walk, &rest[i + 1..], &grammar, text);
                run_text(walk, parsed.rest, at, false);
            }
        }
        ("bisect", "run") => wrapped(walk, &rest[2..], true),
        ("rebase", _) => exec_of_rebase(walk, &rest[1..], at),
        ("clone", _) => {
            let parsed = parse(&rest[1..], &CLONE);
            let may_be_option = |w: &Word| is_unknown(w) && w.if_empty.starts_with('-');
            if parsed.has(&["u", "upload-pack"]) || rest.iter().any(may_be_option) {
                walk.unresolved(text);
            }
            for setting in parsed.values(&["c", "config"]) {
                match &setting.value {
                    Some(setting) => git_setting(walk, setting, text, at),
                    None => walk.unresolved(text),
                }
            }
        }
        ("filter-branch" | "merge-index" | "remote-ext", _) => walk.unresolved(text),
        ("grep", _) if rest.iter().any(opens_pager) => {
            walk.unresolved(text);
        }
        _ => {
            let is_exec = |w: &Word| {
                let name = w.if_empty.split('=').next().unwrap_or_default();
                name.len() > 2 && "--exec".starts_with(name)
            };
            if rest.iter().any(is_exec) {
                walk.unresolved(text);
            }
        }
    }
}

/// Settings of git's that name no program and no address; with a full stop all of a section.
const PLAIN_SETTINGS: [&str; 38] = [
    "advice.",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "color.",
    "column.",
    "commit.gpgsign",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.quotepath",
    "core.safecrlf",
    "core.symlinks",
    "diff.algorithm",
    "diff.colormoved",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "fetch.prune",
    "gc.auto",
    "http.lowspeedlimit",
    "http.postbuffer",
    "http.version",
    "i18n.",
    "init.defaultbranch",
    "log.",
    "merge.conflictstyle",
    "protocol.version",
    "pull.",
    "safe.directory",
    "status.",
    "user.",
];

/// A setting of git's on the command line: some are commands.
fn git_setting(walk: &mut Walk<'_>, setting: &str, text: &str, at: usize) {
    let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
    let key = key.to_lowercase();
    // An alias gets the words behind it, and may be one of options, which hold further settings.
    if key.starts_with("alias.") || key == "sequence.editor" {
        if let Some(command) = value.strip_prefix('!') {
            walk.in_subshell(command, at);
        }
        return walk.unresolved(text);
    }
    let is_command = [
        "pager", "editor", "command", "helper", "askpass", "external", "textconv",
    ]
    .iter()
    .any(|part| key.contains(part))
        || [
            "hookspath",
            "fsmonitor",
            "program",
            "driver",
            "clean",
            "smudge",
            "process",
            "cmd",
        ]
        .iter()
        .any(|end| key.ends_with(end))
        || key.starts_with("include");
    if !is_command {
        let is_plain = PLAIN_SETTINGS
            .iter()
            .any(|known| key == *known || known.ends_with('.') && key.starts_with(known));
        if !is_plain {
            walk.unresolved(text);
        }
        return;
    }
    let is_script = !matches!(
        key.rsplit('.').next(),
        Some("hookspath" | "path" | "helper")
    );
    if is_script && !value.is_empty() && !value.contains('%') {
        run_with_more(walk, value.trim_start_matches('!'), at);
    } else {
        walk.unresolved(text);
    }
}
