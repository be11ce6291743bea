"""Gates: conditions under which a trial counts. One file each; `registry` lists them."""
