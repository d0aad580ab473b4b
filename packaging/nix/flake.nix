{
  description = "@DESCRIPTION@";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      version = "@VERSION@";
      # The archives of the release, whose executables for Linux need no C library.
      archives = {
@SOURCES@
      };
      package = system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        pkgs.stdenvNoCC.mkDerivation {
          pname = "gemini-tools";
          inherit version;
          src = pkgs.fetchurl archives.${system};
          dontConfigure = true;
          dontBuild = true;
          dontStrip = true;
          installPhase = ''
            runHook preInstall
            mkdir -p $out
            cp -r bin share $out/
            runHook postInstall
          '';
          meta = {
            description = "@DESCRIPTION@";
            homepage = "@REPOSITORY@";
            license = [ pkgs.lib.licenses.mit pkgs.lib.licenses.asl20 ];
            mainProgram = "get_tools";
            platforms = builtins.attrNames archives;
            sourceProvenance = [ pkgs.lib.sourceTypes.binaryNativeCode ];
          };
        };
    in
    {
      packages = builtins.mapAttrs (system: _: { default = package system; }) archives;
      apps = builtins.mapAttrs
        (system: _: {
          default = { type = "app"; program = "${self.packages.${system}.default}/bin/get_tools"; };
        })
        archives;
    };
}
