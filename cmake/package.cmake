# What an installation holds, and the Debian package of it (`make deb`).

# `make install` and cpack take what is built, and never build the tests first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(GNUInstallDirs)
set(CMAKE_INSTALL_DOCDIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/isthmus)

if(TARGET isthmus)
  install(TARGETS isthmus RUNTIME)
endif()
install(FILES deploy/systemd/isthmus-infra.service deploy/systemd/isthmus-run.service DESTINATION lib/systemd/system)
install(FILES deploy/systemd/isthmus.sysusers DESTINATION lib/sysusers.d RENAME isthmus.conf)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs/guides docs/reference deploy/examples deploy/manifests DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME isthmus)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Kubernetes cloud controller manager for machines of your own")
set(CPACK_PACKAGE_DESCRIPTION
  "Isthmus tells a cluster which machine each Node is, gives Services of type LoadBalancer addresses that answer, and\n\
keeps both true. In it are the manager (isthmus run) and its backend (isthmus infra), each with a systemd unit.")
set(CPACK_PACKAGE_CONTACT "The Isthmus authors <maintainers@isthmus.dev>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "ca-certificates, systemd")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(scripts postinst prerm postrm)
list(TRANSFORM scripts PREPEND ${PROJECT_SOURCE_DIR}/deploy/debian/)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${scripts})
include(CPack)
