printf "version: 1\nentrypoint: "
printf "%100s\n" "" | tr " " "["
