class GeminiTools < Formula
  desc "@DESCRIPTION@"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

@SOURCES@

  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install Dir["share/bash-completion/completions/*"]
    fish_completion.install Dir["share/fish/vendor_completions.d/*"]
    zsh_completion.install Dir["share/zsh/site-functions/*"]
    # Not `doc`: `get_tools --licenses` reads the licences at this place beside the executables.
    (share/"doc/gemini-tools").install Dir["share/doc/gemini-tools/*"]
  end

  test do
    (testpath/"notes.txt").write "from the formula\n"
    assert_match "from the formula", shell_output("#{bin}/call_tool read_file absolute_path=notes.txt")
    assert_match "serve_tools #{version}", shell_output("#{bin}/get_tools serve --version")
  end
end
