/** The version of this build: replaced by the build from package.json; run from source it says so. */
declare const __PLATFORM_VERSION__: string | undefined;

export const version: string = typeof __PLATFORM_VERSION__ === "string" ? __PLATFORM_VERSION__ : "1.0.0-source";
