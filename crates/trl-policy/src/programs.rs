//! Programs that matter for what they do, by name. Lists are words in one string: they are read more often than searched.

use crate::pattern::base;

/// They run text or files they are given: never offered to be allowed from now on.
const INTERPRETERS: &str = "python pypy ipython node nodejs deno bun perl ruby irb php lua luajit tclsh wish expect Rscript \
    R julia ghci runghc scala groovy jshell java erl iex elixir osascript pwsh powershell awk gawk \
    mawk nawk sed gsed ed ex vi vim nvim emacs gdb lldb tsx ts-node guile racket sbcl clojure bc \
    psql mysql sqlite original-awk gnuplot ocaml octave mono wine";

const SHELLS: &str = "sh bash dash zsh ash ksh ksh93 mksh rbash fish csh tcsh yash nu xonsh elvish rc es";

/// They run another program named in their words, in ways that are not always taken apart.
const RUNNERS: &str = "sudo doas su runuser pkexec env xargs parallel ssh mosh chroot unshare nsenter setpriv taskset \
    chrt ionice numactl prlimit flock script strace ltrace valgrind perf watch entr at batch crontab \
    screen tmux dtach systemd-run start-stop-daemon busybox toybox docker podman nerdctl kubectl oc \
    lxc nix nix-shell npx bunx uvx pipx pnpx direnv rlwrap fakeroot proot firejail bwrap torify \
    torsocks proxychains xvfb-run dbus-run-session cgexec exec command builtin eval nohup nice \
    timeout gtimeout stdbuf setsid time find fd fdfind trap alias coproc noglob nocorrect rsync tar \
    make gmake just hyperfine watchexec concurrently setarch linux32 linux64 i386 x86_64 unbuffer pdb \
    git-shell cmake ctest m4 dc view rview vimdiff nano pico man less more most rg zip ld.so \
    capsh split ssh-agent run-parts ip gosu su-exec tini dumb-init catchsegv faketime eatmydata machinectl \
    pyenv rbenv nodenv asdf mise volta fnm nvm conda mamba hatch poetry pdm gcc g++ cc c++ clang clang++";

/// Interpreters that read their program from their input when they are given none.
pub(crate) const READ_INPUT: &str = "python pypy ipython node nodejs deno bun perl ruby irb php lua luajit tclsh wish expect Rscript \
    R julia ghci scala groovy jshell erl iex osascript pwsh powershell guile racket sbcl clojure ed \
    ex gdb lldb";

pub(crate) fn is_in(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

pub(crate) fn is_interpreter(name: &str) -> bool {
    is_shell(name) || is_in(INTERPRETERS, stem(name))
}

pub(crate) fn is_shell(name: &str) -> bool {
    is_in(SHELLS, base(name))
}

pub(crate) fn is_runner(name: &str) -> bool {
    is_in(RUNNERS, base(name)) || is_loader(base(name)) || base(name).starts_with("qemu-")
}

/// The dynamic linker runs whatever it is given: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`.
fn is_loader(base: &str) -> bool {
    base.starts_with("ld-") && base.contains(".so")
}

/// A program's name without directory and version.
pub(crate) fn stem(name: &str) -> &str {
    base(name).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}
